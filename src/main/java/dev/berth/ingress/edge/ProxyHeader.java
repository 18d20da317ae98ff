package dev.berth.ingress.edge;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.CorruptedFrameException;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Header of the PROXY protocol, version 1 or 2, at the start of a connection.
 *
 * <p>Source: haproxy.org, proxy-protocol.txt, sections 2.1 and 2.2.
 *
 * @param length in bytes
 * @param client null if the proxy names none, as for its own checks
 */
record ProxyHeader(int length, @Nullable InetSocketAddress client) {
  private static final byte[] V1 = "PROXY ".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] V2 = {0xD, 0xA, 0xD, 0xA, 0, 0xD, 0xA, 'Q', 'U', 'I', 'T', 0xA};
  private static final int MAX_V1_BYTES = 107; // with the end of the line
  private static final int HEAD_BYTES = 16; // of version 2

  /** Maximum length of the addresses and extensions of version 2, in bytes. */
  private static final int MAX_V2_BYTES = 4096;

  /**
   * Reads a header without consuming it. Returns null if it is incomplete.
   *
   * @throws CorruptedFrameException if the bytes are no header
   */
  static @Nullable ProxyHeader read(ByteBuf in) {
    byte[] start = ByteBufUtil.getBytes(in, in.readerIndex(), Math.min(12, in.readableBytes()));
    return starts(start, V2) ? readV2(in) : starts(start, V1) ? readV1(in) : refuse();
  }

  private static boolean starts(byte[] bytes, byte[] as) {
    int length = Math.min(bytes.length, as.length);
    return Arrays.equals(bytes, 0, length, as, 0, length);
  }

  private static ProxyHeader refuse() {
    throw new CorruptedFrameException("PROXY header: malformed (expected: version 1 or 2)");
  }

  private static @Nullable ProxyHeader readV1(ByteBuf in) {
    int end = in.indexOf(in.readerIndex(), in.writerIndex(), (byte) '\n') - in.readerIndex();
    if (end < 0 || end >= MAX_V1_BYTES) {
      return in.readableBytes() < MAX_V1_BYTES ? null : refuse();
    }
    String line = in.toString(in.readerIndex(), end, StandardCharsets.ISO_8859_1);
    String[] words = line.split(" ", -1);
    if (!line.endsWith("\r")) {
      return refuse();
    } else if (words[1].strip().equals("UNKNOWN")) {
      return new ProxyHeader(end + 1, null);
    }
    boolean v4 = words[1].equals("TCP4");
    if (words.length != 6
        || !(v4 || words[1].equals("TCP6"))
        || !(isAddress(words[2], v4) && isAddress(words[3], v4))
        || !(isPort(words[4]) && isPort(words[5].substring(0, words[5].length() - 1)))) {
      return refuse();
    }
    byte[] client = NetUtil.createByteArrayFromIpAddressString(words[2]);
    return new ProxyHeader(end + 1, address(client, Integer.parseInt(words[4])));
  }

  private static boolean isAddress(String text, boolean v4) {
    return v4
        ? NetUtil.isValidIpV4Address(text)
        : NetUtil.isValidIpV6Address(text) && text.indexOf('%') < 0;
  }

  private static boolean isPort(String text) {
    return text.matches("0|[1-9]\\d{0,4}") && Integer.parseInt(text) <= 0xFFFF;
  }

  private static @Nullable ProxyHeader readV2(ByteBuf in) {
    if (in.readableBytes() < HEAD_BYTES) {
      return null;
    }
    int at = in.readerIndex() + V2.length;
    int command = in.getUnsignedByte(at);
    int family = in.getUnsignedByte(at + 1) >> 4;
    int length = in.getUnsignedShort(at + 2);
    int bytes = family == 1 ? 4 : 16; // of an address
    boolean named = command == 0x21 && (family == 1 || family == 2);
    if (command >> 4 != 2
        || (command & 0xF) > 1
        || family > 3
        || length > MAX_V2_BYTES
        || (named && length < 2 * bytes + 4)) {
      return refuse();
    }
    if (in.readableBytes() < HEAD_BYTES + length) {
      return null;
    }
    return new ProxyHeader(
        HEAD_BYTES + length,
        named
            ? address(
                ByteBufUtil.getBytes(in, at + 4, bytes), in.getUnsignedShort(at + 4 + 2 * bytes))
            : null);
  }

  private static InetSocketAddress address(byte[] address, int port) {
    try {
      return new InetSocketAddress(InetAddress.getByAddress(address), port);
    } catch (UnknownHostException otherLength) {
      throw new IllegalStateException(otherLength);
    }
  }
}

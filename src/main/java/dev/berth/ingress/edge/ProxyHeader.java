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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
  private static final Pattern LINE =
      Pattern.compile(
          "PROXY (?:UNKNOWN(?: .*)?|TCP([46]) ([0-9a-fA-F.:]+) ([0-9a-fA-F.:]+) (0|[1-9]\\d{0,4})"
              + " (0|[1-9]\\d{0,4}))\r\n");
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
    int length = Math.min(MAX_V1_BYTES, in.readableBytes());
    String text = in.toString(in.readerIndex(), length, StandardCharsets.ISO_8859_1);
    int end = text.indexOf('\n') + 1;
    if (end == 0) {
      return length < MAX_V1_BYTES ? null : refuse();
    }
    Matcher line = LINE.matcher(text.substring(0, end));
    if (!line.matches()) {
      return refuse();
    }
    String address = line.group(2);
    if (address == null) {
      return new ProxyHeader(end, null);
    }
    byte[] client = NetUtil.createByteArrayFromIpAddressString(address);
    byte[] proxy = NetUtil.createByteArrayFromIpAddressString(line.group(3));
    int bytes = line.group(1).equals("4") ? 4 : 16;
    int port = Math.max(Integer.parseInt(line.group(4)), Integer.parseInt(line.group(5)));
    return client == null
            || proxy == null
            || client.length != bytes
            || proxy.length != bytes
            || port > 0xFFFF
        ? refuse()
        : new ProxyHeader(end, address(client, Integer.parseInt(line.group(4))));
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

package dev.berth.ingress.limit;

import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.unix.Buffer;
import io.netty.channel.unix.RawUnixChannelOption;
import io.netty.channel.unix.UnixChannel;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Socket filter that drops new connection attempts (SYN) to a port, while pending ones are
 * accepted. A dropped client retries after a second, and the closed port refuses it. Without the
 * filter, the kernel would reset connections that it accepted before the close. Linux only; needs
 * no privilege.
 *
 * <p>Source: classic BPF, {@code SO_ATTACH_FILTER} of socket(7). For TCP the filter sees the packet
 * from the TCP header on.
 */
public final class SynFilter {
  private static final Logger LOG = LoggerFactory.getLogger(SynFilter.class);

  private static final int SOL_SOCKET = 1;
  private static final int SO_ATTACH_FILTER = 26;
  private static final int FPROG_BYTES = 16; // a short, and an address at offset 8

  private static final int LOAD_BYTE = 0x30;
  private static final int JUMP_IF_ANY_SET = 0x45;
  private static final int RETURN = 0x06;
  private static final int TCP_FLAGS = 13; // offset
  private static final int SYN = 0x02;

  private SynFilter() {}

  /**
   * Sets the filter, which cannot be removed.
   *
   * @return whether the filter is set; false on other systems than Linux and with NIO
   */
  public static boolean set(Channel port) {
    if (!(port instanceof UnixChannel) || Buffer.addressSize() != Long.BYTES) {
      return false;
    }
    ByteBuffer program = direct(4 * Long.BYTES);
    instruction(program, LOAD_BYTE, 0, TCP_FLAGS);
    instruction(program, JUMP_IF_ANY_SET, 1, SYN); // if clear, skips one
    instruction(program, RETURN, 0, 0); // 0 bytes: drops the packet
    instruction(program, RETURN, 0, -1); // all bytes: accepts the packet
    ByteBuffer pointer =
        direct(FPROG_BYTES)
            .putShort(0, (short) 4)
            .putLong(Long.BYTES, Buffer.memoryAddress(program));
    try {
      return port.config()
          .setOption(
              new RawUnixChannelOption("SYN", SOL_SOCKET, SO_ATTACH_FILTER, FPROG_BYTES), pointer);
    } catch (ChannelException refused) {
      LOG.debug("port without connection filter: {}", refused.toString());
      return false;
    } finally {
      Reference.reachabilityFence(program); // until the kernel has copied it
    }
  }

  private static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  private static void instruction(ByteBuffer into, int code, int otherwiseSkips, int operand) {
    into.putShort((short) code).put((byte) 0).put((byte) otherwiseSkips).putInt(operand);
  }
}

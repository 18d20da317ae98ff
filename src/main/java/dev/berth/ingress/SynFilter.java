package dev.berth.ingress;

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
 * Has the kernel drop what asks a port for another connection, while it accepts those that are on
 * their way. Whoever asked asks again a second later, and is refused then by the closed port; where
 * a port just closes, the kernel resets those that it had taken meanwhile. Linux alone, and no
 * privilege.
 *
 * <p>Source: classic BPF, {@code SO_ATTACH_FILTER} of socket(7); of TCP it sees the header first.
 */
final class SynFilter {
  private static final Logger LOG = LoggerFactory.getLogger(SynFilter.class);

  private static final int SOL_SOCKET = 1;
  private static final int SO_ATTACH_FILTER = 26;
  private static final int FPROG_BYTES = 16; // a short, and an address at 8

  private static final int LOAD_BYTE = 0x30;
  private static final int JUMP_IF_ANY_SET = 0x45;
  private static final int RETURN = 0x06;
  private static final int TCP_FLAGS = 13; // offset
  private static final int SYN = 0x02;

  private SynFilter() {}

  /**
   * Sets it; it cannot be taken off.
   *
   * @return whether it is set; else this is no Linux, or NIO
   */
  static boolean set(Channel port) {
    if (!(port instanceof UnixChannel) || Buffer.addressSize() != Long.BYTES) {
      return false;
    }
    ByteBuffer program = direct(4 * Long.BYTES);
    instruction(program, LOAD_BYTE, 0, TCP_FLAGS);
    instruction(program, JUMP_IF_ANY_SET, 1, SYN); // else over one
    instruction(program, RETURN, 0, 0); // none of it: drops it
    instruction(program, RETURN, 0, -1); // all of it
    ByteBuffer pointer =
        direct(FPROG_BYTES)
            .putShort(0, (short) 4)
            .putLong(Long.BYTES, Buffer.memoryAddress(program));
    try {
      return port.config()
          .setOption(
              new RawUnixChannelOption("SYN", SOL_SOCKET, SO_ATTACH_FILTER, FPROG_BYTES), pointer);
    } catch (ChannelException refused) {
      LOG.debug("a port takes no filter: {}", refused.toString());
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

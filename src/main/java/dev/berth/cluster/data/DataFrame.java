package dev.berth.cluster.data;

import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * The frames of a data link: a type byte, and then
 *
 * <pre>
 *   from the connecting process                  from the accepting process
 *   HELLO    a {@link DataLinkHello}
 *                                                WELCOME, or REFUSED with the reason in UTF-8
 *                                                PING     its time
 *                                                LEAVING  it ends: send nothing new
 *   PONG     the ping's time, its own
 *   SENT     its time: the next frames were sent then, or a little later
 *   ROUTER, REPLICA   target loop (2 bytes), a message of {@link WireCodec}
 *   BYE      the last frame; nothing is lost
 * </pre>
 *
 * Times are 8 bytes, in nanoseconds of the sender's monotonic clock. The event bus between nodes
 * carries PING, PONG, ROUTER and REPLICA.
 */
public final class DataFrame {
  static final byte HELLO = 1;
  static final byte WELCOME = 2;
  static final byte REFUSED = 3;
  public static final byte PING = 4;
  public static final byte PONG = 5;
  static final byte SENT = 6;
  public static final byte ROUTER = 7;
  public static final byte REPLICA = 8;
  static final byte BYE = 9;
  static final byte LEAVING = 10;

  /** Offset of a message within its frame, in bytes. */
  private static final int MESSAGE = 3;

  /** Maximum size of a frame, in bytes. */
  static final int MAX_BYTES = WireCodec.MAX_MESSAGE_BYTES + MESSAGE;

  private DataFrame() {}

  /** Appends a frame of numbers. */
  public static void write(Buffer out, byte kind, long... times) {
    out.appendByte(kind);
    for (long time : times) {
      out.appendLong(time);
    }
  }

  static void write(Buffer out, byte kind, Buffer text) {
    out.appendByte(kind).appendBuffer(text);
  }

  /**
   * Appends a message without its large body. Returns that body, which must follow; null for none.
   *
   * @param address bus address of the receiver
   */
  public static @Nullable Buffer write(Buffer out, String address, BusMessage message) {
    out.appendByte(address.startsWith(BusAddresses.REPLICA) ? REPLICA : ROUTER)
        .appendUnsignedShort(BusAddresses.loop(address));
    return WireCodec.encodeFields(message, out);
  }

  static Buffer text(Buffer frame) {
    return frame.slice(1, frame.length());
  }

  /** Returns a number of a frame, counted from 0. */
  public static long time(Buffer frame, int number) {
    return frame.getLong(1 + number * Long.BYTES);
  }

  /** Returns the bus address of a message's receiver in a process. */
  static String address(Buffer frame, String node) {
    return frame.getByte(0) == REPLICA
        ? BusAddresses.replica(node, loop(frame))
        : BusAddresses.router(node, loop(frame));
  }

  static int loop(Buffer frame) {
    return frame.getUnsignedShort(1);
  }

  static BusMessage message(Buffer frame, long ageMicros) {
    return WireCodec.decode(MESSAGE, frame, ageMicros);
  }

  /**
   * Returns the refusal of a message that is not accepted; null when no router waits for a reply.
   */
  static WireCodec.@Nullable RefusalReply toRefusalReply(Buffer frame, Refusal why) {
    return WireCodec.toRefusalReply(MESSAGE, frame, why);
  }
}

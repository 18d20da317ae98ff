package dev.berth.protocol.wire;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.AskReservation;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.RenewLease;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.Load;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.port.HeadBytes;
import io.vertx.core.buffer.Buffer;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The binary form of a {@link BusMessage} between instances: version (1 byte), type (1), length of
 * what follows (4, big endian), then the fields in declared order. Small numbers are varints,
 * random ones 8 bytes, strings and buffers have their length in front. What follows the fields that
 * are known is passed over, here and in the records that have their length in front.
 *
 * <p>A body of {@link #LARGE_BODY_BYTES} or more stands behind all fields, where only its length
 * is, so that nobody need copy it; there is one in a message at most.
 *
 * <p>Whoever changes a form, or the order of messages, raises {@link #VERSION}, but for components
 * that are appended to a record and for messages behind the last; enum values are only ever
 * appended. In every version the header is as above, and of what asks for an answer, which a bit of
 * its type says, the first fields are the call's id and the router that waits.
 */
public final class WireCodec {
  /** The form written, and the only one read. */
  public static final int VERSION = 16;

  /** The largest inline body or stream frame. */
  public static final int MAX_BODY_BYTES = 64 * 1024;

  /** From this on a body is not copied; below it, it would keep much more than itself alive. */
  static final int LARGE_BODY_BYTES = 16 * 1024;

  /**
   * The largest message, header included: a head of user code or a request's of HTTP, with a line
   * and headers of 1 MiB each at most, a body, and as much for the rest; or a batch of metrics.
   */
  public static final int MAX_MESSAGE_BYTES = 2 * HeadBytes.MAX + 2 * MAX_BODY_BYTES;

  private static final int HEADER_BYTES = 6;
  private static final int LENGTH_OFFSET = 2;

  /** Of a type: its message asks for an answer, and it does no harm to say that it was refused. */
  private static final int ASKS = 0x80;

  private static final Set<Class<?>> ASKING =
      Set.of(CallRequest.class, ReserveSlot.class, RenewLease.class, AskReservation.class);

  /**
   * A type's number is its place by name, from 1: compilers differ in how they order subclasses.
   */
  private static final List<Class<?>> TYPES =
      messages(BusMessage.class).sorted(Comparator.comparing(Class::getName)).toList();

  /** Made when a message first comes or goes: all together would be a fifth of a node's start. */
  private static final ClassValue<RecordForm> FORMS =
      new ClassValue<>() {
        @Override
        protected RecordForm computeValue(Class<?> type) {
          return new RecordForm(TYPES.indexOf(type) + 1 | (ASKING.contains(type) ? ASKS : 0), type);
        }
      };

  private WireCodec() {}

  /** What is said to the router whose message is not taken. */
  public record Refused(RouterAddress to, CallRefused answer) {}

  private static Stream<Class<?>> messages(Class<?> type) {
    return type.isSealed()
        ? Stream.of(type.getPermittedSubclasses()).flatMap(WireCodec::messages)
        : Stream.of(type);
  }

  /**
   * Appends a message.
   *
   * @throws WireFormatException when it is over {@link #MAX_MESSAGE_BYTES}, or its body over {@link
   *     #MAX_BODY_BYTES}; the buffer then holds a part of it and is not to be sent
   */
  public static void encode(BusMessage message, Buffer out) {
    Buffer body = encodeFields(message, out);
    if (body != null) {
      out.appendBuffer(body);
    }
  }

  /**
   * Appends a message but for its large body.
   *
   * @return that, which is to follow at once; null when there is none
   * @throws WireFormatException as {@link #encode}
   */
  public static @Nullable Buffer encodeFields(BusMessage message, Buffer out) {
    int start = out.length();
    RecordForm form = FORMS.get(message.getClass());
    out.appendByte((byte) VERSION).appendByte((byte) form.number).appendInt(0);
    WireWriter writer = new WireWriter(out);
    form.write(message, writer);
    Buffer body = writer.body();
    int size = out.length() - start + (body == null ? 0 : body.length());
    if (size > MAX_MESSAGE_BYTES) {
      throw new WireFormatException(
          "message: " + size + " bytes (expected: at most " + MAX_MESSAGE_BYTES + ")");
    }
    out.setInt(start + LENGTH_OFFSET, size - HEADER_BYTES);
    return body;
  }

  /**
   * Reads the message that starts at {@code position}. Bytes after its end are left alone.
   *
   * @throws WireFormatException when the bytes there are anything else
   */
  public static BusMessage decode(int position, Buffer in) {
    return decode(position, in, 0);
  }

  /**
   * The same, of one that was on its way for a while: what it says is left is so much less.
   *
   * @param ageMicros from 0; {@link Long#MAX_VALUE} leaves nothing
   */
  public static BusMessage decode(int position, Buffer in, long ageMicros) {
    if (position < 0 || in.length() - position < HEADER_BYTES) {
      throw new WireFormatException(
          "message: " + (in.length() - position) + " bytes (expected: at least a header of 6)");
    }
    int version = in.getByte(position) & 0xFF;
    if (version != VERSION) {
      throw new WireFormatException("version: " + version + " (expected: " + VERSION + ")");
    }
    int type = in.getByte(position + 1) & ~ASKS & 0xFF;
    int length = in.getInt(position + LENGTH_OFFSET);
    int fields = position + HEADER_BYTES;
    if (length < 0 || length > MAX_MESSAGE_BYTES - HEADER_BYTES) {
      throw new WireFormatException(
          "length: %s (expected: at most %s)"
              .formatted(Integer.toUnsignedString(length), MAX_MESSAGE_BYTES - HEADER_BYTES));
    }
    if (length > in.length() - fields) {
      throw new WireFormatException(
          "length: " + length + " (expected: at most the " + (in.length() - fields) + " received)");
    }
    if (type == 0 || type > TYPES.size()) {
      throw new WireFormatException("type: " + type + " (expected: 1 to " + TYPES.size() + ")");
    }
    WireReader reader = new WireReader(in, fields, fields + length, ageMicros);
    BusMessage message;
    try {
      message = FORMS.get(TYPES.get(type - 1)).read(reader);
    } catch (IllegalArgumentException invalid) {
      // The records and headers check themselves: an empty name, a line break in a header.
      throw new WireFormatException("type " + type + ": invalid field", invalid);
    }
    return message;
  }

  /**
   * What to answer to a message that {@link #decode} did not read, or that never left, so that its
   * router need not wait for longer to learn that nothing came of it.
   *
   * @return null when nobody waits for an answer, or it cannot be told who
   */
  public static @Nullable Refused refused(int position, Buffer in, Refusal why) {
    int fields = position + HEADER_BYTES;
    if (in.length() < fields || (in.getByte(position + 1) & ASKS) == 0) {
      return null;
    }
    WireReader reader = new WireReader(in, fields, in.length(), 0);
    try {
      long callId = reader.varint("callId");
      RouterAddress router = new RouterAddress(reader.string("node"), reader.int32("loop"));
      return new Refused(router, new CallRefused(callId, why, Load.NONE));
    } catch (WireFormatException unknown) {
      return null;
    }
  }
}

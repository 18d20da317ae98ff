package dev.berth.protocol.wire;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.AskReservation;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.RenewLease;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.LoadReport;
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
 * the rest (4, big endian), then the fields in declared order. Small numbers are varints, random
 * numbers 8 bytes; strings and buffers have a length prefix. A reader skips bytes after the last
 * known field, both of a message and of records with a length prefix.
 *
 * <p>A body of {@link #LARGE_BODY_BYTES} or more follows all fields, and its field contains only
 * its length, so that the body is not copied. A message contains at most one such body.
 *
 * <p><b>Versions.</b> A change of a form or of the order of messages raises {@link #VERSION}. Two
 * changes do not: a component appended to a record, and a message appended after the last. Enum
 * values are only appended. The header is the same in every version. A bit of the type marks
 * messages that require a reply; in every version their first fields are the call's id and the
 * router that waits.
 */
public final class WireCodec {
  /** Version of the form, for writing and reading. */
  public static final int VERSION = 22;

  /** Maximum size of an inline body or stream frame, in bytes. */
  public static final int MAX_BODY_BYTES = 64 * 1024;

  /**
   * Minimum size of a body that is not copied, in bytes. A slice of a smaller body would retain a
   * much larger buffer.
   */
  static final int LARGE_BODY_BYTES = 16 * 1024;

  /**
   * Maximum size of a message in bytes, header included. Large messages are batches of metrics, or
   * contain a head of user code or of HTTP, a body and other fields. A head has a line and headers
   * of at most 1 MiB each; the other fields take at most the size of a body.
   */
  public static final int MAX_MESSAGE_BYTES = 2 * HeadBytes.MAX + 2 * MAX_BODY_BYTES;

  private static final int HEADER_BYTES = 6;
  private static final int LENGTH_OFFSET = 2;

  /** Bit of a type whose message requires a reply and can be refused without harm. */
  private static final int ASKS = 0x80;

  private static final Set<Class<?>> ASKING =
      Set.of(CallRequest.class, ReserveSlot.class, RenewLease.class, AskReservation.class);

  /**
   * Message types by name. The number of a type is its index plus 1, because compilers order
   * subclasses differently.
   */
  private static final List<Class<?>> TYPES =
      messages(BusMessage.class).sorted(Comparator.comparing(Class::getName)).toList();

  /**
   * Forms, created at the first message of a type: all at once would take a fifth of a node's
   * start.
   */
  private static final ClassValue<RecordCodec> FORMS =
      new ClassValue<>() {
        @Override
        protected RecordCodec computeValue(Class<?> type) {
          return new RecordCodec(
              TYPES.indexOf(type) + 1 | (ASKING.contains(type) ? ASKS : 0), type);
        }
      };

  private WireCodec() {}

  /** A refusal for the router of a message that was not accepted. */
  public record RefusalReply(RouterAddress to, CallRefused answer) {}

  private static Stream<Class<?>> messages(Class<?> type) {
    return type.isSealed()
        ? Stream.of(type.getPermittedSubclasses()).flatMap(WireCodec::messages)
        : Stream.of(type);
  }

  /**
   * Appends a message.
   *
   * @throws WireFormatException when the message exceeds {@link #MAX_MESSAGE_BYTES}, or its body
   *     {@link #MAX_BODY_BYTES}; the buffer then contains a part of the message and must not be
   *     sent
   */
  public static void encode(BusMessage message, Buffer out) {
    Buffer body = encodeFields(message, out);
    if (body != null) {
      out.appendBuffer(body);
    }
  }

  /**
   * Appends a message without its large body.
   *
   * @return the large body, which must follow immediately; null when there is none
   * @throws WireFormatException as {@link #encode}
   */
  public static @Nullable Buffer encodeFields(BusMessage message, Buffer out) {
    int start = out.length();
    RecordCodec form = FORMS.get(message.getClass());
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
   * Reads the message that starts at {@code position}. Ignores the bytes after its end.
   *
   * @throws WireFormatException when the bytes are not a message
   */
  public static BusMessage decode(int position, Buffer in) {
    return decode(position, in, 0);
  }

  /**
   * Reads a message that was in transit for a while. Subtracts its age from each remaining time.
   *
   * @param ageMicros 0 or more; {@link Long#MAX_VALUE} leaves no remaining time
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
    try {
      BusMessage message = FORMS.get(TYPES.get(type - 1)).read(reader);
      reader.checkBody();
      return message;
    } catch (IllegalArgumentException invalid) {
      // Records and headers validate themselves: an empty name, a line break in a header.
      throw new WireFormatException("type " + type + ": invalid field", invalid);
    }
  }

  /**
   * Returns the refusal of a message that {@link #decode} failed to read or that was never sent.
   * Its router then does not wait until a timeout.
   *
   * @return null when no router waits for a reply, or the router is unreadable
   */
  public static @Nullable RefusalReply toRefusalReply(int position, Buffer in, Refusal why) {
    int fields = position + HEADER_BYTES;
    if (in.length() < fields || (in.getByte(position + 1) & ASKS) == 0) {
      return null;
    }
    WireReader reader = new WireReader(in, fields, in.length(), 0);
    try {
      long callId = reader.varint("callId");
      RouterAddress router = new RouterAddress(reader.string("node"), reader.int32("loop"));
      return new RefusalReply(router, new CallRefused(callId, why, LoadReport.NONE));
    } catch (WireFormatException unknown) {
      return null;
    }
  }
}

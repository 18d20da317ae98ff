package dev.berth.protocol.wire;

import dev.berth.protocol.BusMessage;
import io.vertx.core.buffer.Buffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The binary form of a {@link BusMessage} between instances: version (1 byte), type (1), length of
 * what follows (4, big endian), then the fields in declared order. Small numbers are varints,
 * random ones 8 bytes, strings and buffers have their length in front.
 *
 * <p>Whoever changes a form, or the order of messages, raises {@link #VERSION}; enum values are
 * only ever appended.
 */
public final class WireCodec {
  /** The form written, and the only one read. */
  public static final int VERSION = 11;

  /** The largest inline body or stream frame. */
  public static final int MAX_BODY_BYTES = 64 * 1024;

  /** The largest message, header included: a body and its headers, or a batch of metrics. */
  public static final int MAX_MESSAGE_BYTES = 1024 * 1024;

  private static final int HEADER_BYTES = 6;
  private static final int LENGTH_OFFSET = 2;

  /** A type's number is its place, from 1: messages are numbered as they are declared. */
  private static final Map<Class<?>, RecordForm> FORM_OF = new LinkedHashMap<>();

  static {
    messages(BusMessage.class)
        .forEach(type -> FORM_OF.put(type, new RecordForm(FORM_OF.size() + 1, type)));
  }

  private static final RecordForm[] FORMS = FORM_OF.values().toArray(RecordForm[]::new);

  private WireCodec() {}

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
    int start = out.length();
    RecordForm form = FORM_OF.get(message.getClass()); // each has one
    out.appendByte((byte) VERSION).appendByte((byte) form.number).appendInt(0);
    form.write(message, new WireWriter(out));
    int size = out.length() - start;
    if (size > MAX_MESSAGE_BYTES) {
      throw new WireFormatException(
          "message: " + size + " bytes (expected: at most " + MAX_MESSAGE_BYTES + ")");
    }
    out.setInt(start + LENGTH_OFFSET, size - HEADER_BYTES);
  }

  /**
   * Reads the message that starts at {@code position}. Bytes after its end are left alone.
   *
   * @throws WireFormatException when the bytes there are anything else
   */
  public static BusMessage decode(int position, Buffer in) {
    if (position < 0 || in.length() - position < HEADER_BYTES) {
      throw new WireFormatException(
          "message: " + (in.length() - position) + " bytes (expected: at least a header of 6)");
    }
    int version = in.getByte(position) & 0xFF;
    if (version != VERSION) {
      throw new WireFormatException("version: " + version + " (expected: " + VERSION + ")");
    }
    int type = in.getByte(position + 1) & 0xFF;
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
    if (type == 0 || type > FORMS.length) {
      throw new WireFormatException("type: " + type + " (expected: 1 to " + FORMS.length + ")");
    }
    WireReader reader = new WireReader(in, fields, fields + length);
    BusMessage message;
    try {
      message = FORMS[type - 1].read(reader);
    } catch (IllegalArgumentException invalid) {
      // The records and headers check themselves: an empty name, a line break in a header.
      throw new WireFormatException("type " + type + ": invalid field", invalid);
    }
    if (reader.remaining() != 0) {
      throw new WireFormatException(
          "type " + type + ": " + reader.remaining() + " bytes too long (expected: 0)");
    }
    return message;
  }
}

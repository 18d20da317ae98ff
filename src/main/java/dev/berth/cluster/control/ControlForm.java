package dev.berth.cluster.control;

import dev.berth.cluster.membership.Authority;
import dev.berth.cluster.membership.Handshake.Hello;
import dev.berth.cluster.membership.Handshake.Refused;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.Members;
import dev.berth.protocol.json.RecordReader;
import dev.berth.protocol.json.RecordWriter;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.Type;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is said on a control link, and its form: the number of its type (1 byte), the length of its
 * JSON (4, big endian), the JSON of its record, and its payload if it has one, which others read
 * and write.
 */
final class ControlForm {
  private static final int HEADER_BYTES = 5;

  /** A type's number is its place: others are only ever appended. */
  static final List<Class<? extends Record>> TYPES =
      List.of(
          Hello.class,
          Welcome.class,
          Refused.class,
          NodeBeat.class,
          Beat.class,
          Members.class,
          Inventory.class,
          Event.class,
          Command.class,
          Bus.class,
          Answer.class,
          Leaving.class,
          NodeLeft.class);

  /** What passes by what waits. */
  sealed interface Urgent permits NodeBeat, Beat {}

  /**
   * By a node.
   *
   * @param unreachable names of nodes that it cannot reach
   * @param pausedMillis that it stood still just before; 0 for not
   */
  public record NodeBeat(List<String> unreachable, long pausedMillis) implements Urgent {}

  /** By the controller. */
  public record Beat(Authority authority) implements Urgent {}

  /**
   * By a node: all that runs there.
   *
   * @param upTo number of the last event that is in it
   */
  public record Inventory(long upTo, Buffer payload) {}

  /** By a node, numbered for as long as its process lives. */
  public record Event(long number, Buffer payload) {}

  /** By the controller. */
  public record Command(Authority authority, Buffer payload) {}

  /**
   * By either: a message of the bus.
   *
   * @param ask number of the answer that is wanted; 0 for none
   */
  public record Bus(long ask, Buffer payload) {}

  /** By the controller. */
  public record Answer(long ask, Buffer payload) {}

  /** By a node: its goodbye. */
  public record Leaving() {}

  /** By the controller, to whoever said goodbye: it may go. */
  public record NodeLeft() {}

  private ControlForm() {}

  /** Keeps the payload out of the JSON. */
  private static final class Writer extends RecordWriter {
    Buffer payload = Buffer.buffer();

    @Override
    protected @Nullable Object value(@Nullable Object value) {
      if (value instanceof Buffer bytes) {
        payload = bytes;
        return null;
      }
      return super.value(value);
    }
  }

  /** Has the payload from beside the JSON. */
  private static final class Reader extends RecordReader {
    private final Buffer payload;

    Reader(Buffer payload) {
      this.payload = payload;
    }

    @Override
    protected Object value(String path, @Nullable Object value, Type type, Class<?> of) {
      return type == Buffer.class ? payload : super.value(path, value, type, of);
    }
  }

  static Buffer encode(Record message) {
    Writer writer = new Writer();
    Buffer json = writer.record(message).toBuffer();
    return Buffer.buffer(HEADER_BYTES + json.length() + writer.payload.length())
        .appendByte((byte) TYPES.indexOf(message.getClass()))
        .appendInt(json.length())
        .appendBuffer(json)
        .appendBuffer(writer.payload);
  }

  /**
   * @throws RuntimeException of any kind when it is nothing that is said here
   */
  static Record decode(Buffer in) {
    int type = in.getByte(0);
    if (type < 0 || type >= TYPES.size()) {
      throw new IllegalArgumentException(
          "type: " + type + " (expected: 0 to " + (TYPES.size() - 1) + ")");
    }
    int end = HEADER_BYTES + in.getInt(1);
    JsonObject json = new JsonObject(in.slice(HEADER_BYTES, end));
    return new Reader(in.slice(end, in.length())).record("", json, TYPES.get(type));
  }
}

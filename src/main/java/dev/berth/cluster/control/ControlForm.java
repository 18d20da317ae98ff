package dev.berth.cluster.control;

import dev.berth.cluster.membership.ClusterEpoch;
import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.cluster.membership.Handshake.HandshakeRefused;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.MemberList;
import dev.berth.protocol.json.RecordReader;
import dev.berth.protocol.json.RecordWriter;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.Type;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The messages of a control link and their form: type number (1 byte), length of the JSON (4, big
 * endian), the JSON of the record, and an optional payload. Other classes read and write the
 * payload.
 */
final class ControlForm {
  private static final int HEADER_BYTES = 5;

  /** Message types; the number of a type is its index, so new types are appended. */
  static final List<Class<? extends Record>> TYPES =
      List.of(
          HandshakeHello.class,
          Welcome.class,
          HandshakeRefused.class,
          NodeBeat.class,
          Beat.class,
          MemberList.class,
          Inventory.class,
          Event.class,
          Command.class,
          Bus.class,
          Answer.class,
          Leaving.class,
          NodeLeft.class);

  /** A message that overtakes waiting messages. */
  sealed interface Urgent permits NodeBeat, Beat {}

  /**
   * A heartbeat of a node.
   *
   * @param unreachable names of nodes that it cannot reach
   * @param pausedMillis duration of a pause of its control loop just before; 0 for none
   */
  public record NodeBeat(List<String> unreachable, long pausedMillis) implements Urgent {}

  /**
   * A heartbeat of the controller.
   *
   * @param received number of heartbeats that it received on this link
   */
  public record Beat(ClusterEpoch authority, long received) implements Urgent {}

  /**
   * The inventory of a node.
   *
   * @param upTo number of the last event that the inventory contains
   */
  public record Inventory(long upTo, Buffer payload) {}

  /** An event of a node, numbered within the life of its process. */
  public record Event(long number, Buffer payload) {}

  /** A command of the controller. */
  public record Command(ClusterEpoch authority, Buffer payload) {}

  /**
   * A bus message of either party.
   *
   * @param ask number of the expected reply; 0 for none
   */
  public record Bus(long ask, Buffer payload) {}

  /** The controller's reply to a {@link Bus} message. */
  public record Answer(long ask, Buffer payload) {}

  /** A node's announcement of its departure. */
  public record Leaving() {}

  /** The controller's confirmation that the node's departure is committed. */
  public record NodeLeft() {}

  private ControlForm() {}

  /** Writes the payload apart from the JSON. */
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

  /** Reads the payload apart from the JSON. */
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
   * Reads a message.
   *
   * @throws RuntimeException of any type when the bytes are not a message of this form
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

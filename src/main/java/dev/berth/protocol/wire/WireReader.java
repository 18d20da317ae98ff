package dev.berth.protocol.wire;

import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.protocol.Admission;
import dev.berth.protocol.SlotDemand;
import dev.berth.protocol.SlotToken;
import io.vertx.core.buffer.Buffer;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Reads primitive fields from a part of a buffer. Never reads past its end. Each length is checked
 * before use, so a reader never allocates more than the received bytes can fill. Error messages
 * contain fields and lengths, never contents, which may be secrets.
 */
final class WireReader {
  private static final int LENGTH_BYTES = WireWriter.LENGTH_BYTES;

  private final Buffer in;
  private int position;
  private int end; // of the current record
  private final int last; // of the message
  private int body; // position of the large body
  private final long ageMicros;
  private @Nullable DeploymentId deployment;

  /**
   * Creates a reader.
   *
   * @param ageMicros time since the message was sent, 0 or more; {@link Long#MAX_VALUE} leaves no
   *     remaining time
   */
  WireReader(Buffer in, int position, int end, long ageMicros) {
    this.in = in;
    this.ageMicros = ageMicros;
    this.position = position;
    this.end = end;
    this.last = end;
    this.body = end;
  }

  /** Refuses a message whose large body overlaps its other fields. */
  void checkBody() {
    if (position > body) {
      throw new WireFormatException("body: in front of the last field (expected: behind all)");
    }
  }

  int remaining() {
    return end - position;
  }

  int byteValue(String field) {
    require(field, 1);
    return in.getByte(position++) & 0xFF;
  }

  boolean bool(String field) {
    int value = byteValue(field);
    if (value > 1) {
      throw new WireFormatException(field + ": " + value + " (expected: 0 or 1)");
    }
    return value == 1;
  }

  long varint(String field) {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      int next = byteValue(field);
      if (shift == 63 && next > 1) {
        break; // bits beyond the 64th
      }
      value |= (next & 0x7FL) << shift;
      if (next < 0x80) {
        return value;
      }
    }
    throw new WireFormatException(field + ": over 64 bits (expected: a varint)");
  }

  int int32(String field) {
    long value = varint(field);
    if ((value >>> 32) != 0) {
      throw new WireFormatException(field + ": over 32 bits (expected: an int)");
    }
    return (int) value;
  }

  long signed(String field) {
    long value = varint(field);
    return (value >>> 1) ^ -(value & 1);
  }

  /** Reads a remaining time and subtracts the transit time; -1 for none. */
  long timeLeft(String field) {
    long sent = signed(field);
    return sent < 0 ? sent : Math.max(0, sent - ageMicros);
  }

  /** Reads a number of slots, which is 1 at the end of the fields. */
  long cost(String field) {
    long slots = demand(field);
    if (SlotDemand.behind((int) slots) > 0) {
      throw new WireFormatException(field + ": " + slots + " (expected: 1 to 65535)");
    }
    return slots;
  }

  /** Reads a {@link SlotDemand}, which is 1 at the end of the fields. */
  long demand(String field) {
    long demand = position < body ? varint(field) : 1;
    if (demand < 1 || demand > Integer.MAX_VALUE || SlotDemand.cost((int) demand) == 0) {
      throw new WireFormatException(field + ": " + demand + " (expected: 1 to 65535 slots)");
    }
    return demand;
  }

  long fixed64(String field) {
    require(field, Long.BYTES);
    long value = in.getLong(position);
    position += Long.BYTES;
    return value;
  }

  double float64(String field) {
    return Double.longBitsToDouble(fixed64(field));
  }

  String string(String field) {
    int length = length(field);
    byte[] bytes = in.getBytes(position, position + length);
    position += length;
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /**
   * Copies a small buffer: a slice would retain the whole socket read until the request ends. A
   * large buffer is most of its frame and is sliced.
   */
  Buffer bytes(String field) {
    long said = varint(field);
    boolean large = said >= WireCodec.LARGE_BODY_BYTES;
    require(field, said, (large ? last : end) - position);
    if (said > WireCodec.MAX_BODY_BYTES) {
      throw new WireFormatException(
          field + ": " + said + " bytes (expected: at most " + WireCodec.MAX_BODY_BYTES + ")");
    }
    int length = (int) said;
    if (large) {
      body = last - length;
      return in.slice(body, last);
    }
    Buffer data = in.getBuffer(position, position + length);
    position += length;
    return data;
  }

  Headers headers(String field) {
    int pairs = count(field, 2);
    String[] namesAndValues = new String[2 * pairs];
    for (int i = 0; i < namesAndValues.length; i++) {
      namesAndValues[i] = string(field);
    }
    return Headers.of(namesAndValues);
  }

  Map<String, String> texts(String field) {
    Map<String, String> texts = new HashMap<>();
    for (int left = count(field, 2); left > 0; left--) {
      texts.put(string(field), string(field));
    }
    return texts;
  }

  OptionalInt optionalInt(String field) {
    return bool(field) ? OptionalInt.of(int32(field)) : OptionalInt.empty();
  }

  /** Reads the number of elements, each at least {@code leastBytes} long. */
  int count(String field, int leastBytes) {
    long count = varint(field);
    if (count < 0 || count > remaining() / leastBytes) {
      throw new WireFormatException(
          field + ": more elements than bytes (expected: at most " + remaining() + " bytes)");
    }
    return (int) count;
  }

  Object enumValue(String field, Object[] values) {
    int ordinal = byteValue(field);
    if (ordinal >= values.length) {
      throw new WireFormatException(
          field + ": " + ordinal + " (expected: 0 to " + (values.length - 1) + ")");
    }
    return values[ordinal];
  }

  // --- values with a length prefix ---

  /** Begins a value with its own end. Returns the outer end, to be passed to {@link #end}. */
  int begin(String field) {
    require(field, LENGTH_BYTES);
    int length = in.getUnsignedMedium(position);
    position += LENGTH_BYTES;
    require(field, length);
    int outer = end;
    end = position + length;
    return outer;
  }

  Object record(String field, MethodHandle components) {
    int outer = begin(field);
    try {
      Object value = (Object) components.invokeExact(this);
      end(outer);
      return value;
    } catch (Throwable thrown) {
      throw RecordCodec.unchecked(thrown);
    }
  }

  /** Ends a value and skips the components that a newer writer appended. */
  void end(int outer) {
    position = end;
    end = outer;
  }

  // --- records shared by messages ---

  List<Object> list(String field, MethodHandle each) {
    int count = count(field, 1);
    List<Object> elements = new ArrayList<>(); // grows with the elements read
    try {
      for (int i = 0; i < count; i++) {
        elements.add((Object) each.invokeExact(this));
      }
    } catch (Throwable thrown) {
      throw RecordCodec.unchecked(thrown);
    }
    return elements;
  }

  Admission admission(String field) {
    int form = byteValue(field);
    return switch (form) {
      case WireWriter.ADMISSION_HELD -> Admission.AcquiredSlot.HELD;
      case WireWriter.ADMISSION_TOKEN ->
          new Admission.Token(
              new SlotToken(
                  fixed64("token.epoch"), varint("token.sequence"), fixed64("token.secret")));
      case WireWriter.ADMISSION_IF_FREE -> Admission.IfFree.IF_FREE;
      case WireWriter.ADMISSION_SLOTLESS -> Admission.NoSlot.NO_SLOT;
      default -> throw new WireFormatException("admission: " + form + " (expected: 0 to 3)");
    };
  }

  Request request(String field) {
    int outer = begin(field);
    Request request =
        Request.of(
            string("method"),
            string("path"),
            bool("query") ? string("query") : null,
            headers("headers"),
            bytes("body"));
    end(outer);
    return request;
  }

  Response response(String field) {
    int outer = begin(field);
    Response response =
        Response.of(int32("status"), headers("headers"), new Response.Body.Whole(bytes("body")));
    end(outer);
    return response;
  }

  DeploymentId deployment(String field) {
    deployment = new DeploymentId(string("application"), string("deployment"));
    return deployment;
  }

  /** Returns the deployment that was read last. */
  DeploymentId lastDeployment(String field) {
    return Objects.requireNonNull(deployment, field);
  }

  private int length(String field) {
    long length = varint(field);
    require(field, length);
    return (int) length;
  }

  private void require(String field, long bytes) {
    require(field, bytes, remaining());
  }

  private static void require(String field, long bytes, int left) {
    if (bytes < 0 || bytes > left) {
      throw new WireFormatException(
          "%s: %s bytes, but %s are left (expected: a whole message)"
              .formatted(field, Long.toUnsignedString(bytes), left));
    }
  }
}

package dev.berth.protocol.wire;

import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.protocol.Admission;
import io.vertx.core.buffer.Buffer;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Appends primitive fields to a buffer, in the forms that {@link WireReader} reads. */
final class WireWriter implements BiConsumer<String, String> {
  static final int ADMISSION_HELD = 0;
  static final int ADMISSION_TOKEN = 1;
  static final int ADMISSION_IF_FREE = 2;
  static final int ADMISSION_SLOTLESS = 3;

  /** Size of a length prefix, in bytes. Every message is shorter than its maximum value. */
  static final int LENGTH_BYTES = 3;

  private final Buffer out;
  private @Nullable DeploymentId deployment;
  private @Nullable Buffer body;

  WireWriter(Buffer out) {
    this.out = out;
  }

  void byteValue(int value) {
    out.appendByte((byte) value);
  }

  /** Appends an enum's ordinal. New enum values must be appended. */
  void ordinal(Enum<?> value) {
    byteValue(value.ordinal());
  }

  void bool(boolean value) {
    out.appendByte((byte) (value ? 1 : 0));
  }

  /**
   * Appends a varint: seven bits per byte, low ones first. Values are small and not negative in
   * practice, yet any long fits.
   */
  void varint(long value) {
    long rest = value;
    while ((rest & ~0x7FL) != 0) {
      out.appendByte((byte) (rest | 0x80));
      rest >>>= 7;
    }
    out.appendByte((byte) rest);
  }

  /** Appends an int as the unsigned varint of its 32 bits. */
  void int32(int value) {
    varint(value & 0xFFFF_FFFFL);
  }

  /** Appends a duration, or -1 for none: zigzag, so that -1 takes one byte. */
  void signed(long value) {
    varint((value << 1) ^ (value >> 63));
  }

  /** Appends a remaining time, or -1 for none. */
  void timeLeft(long value) {
    signed(value);
  }

  void demand(long demand) {
    cost(demand);
  }

  /** Appends a number of slots, unless it is 1. */
  void cost(long slots) {
    if (slots != 1) {
      varint(slots);
    }
  }

  /** Appends random bits, which a varint would only lengthen. */
  void fixed64(long value) {
    out.appendLong(value);
  }

  void float64(double value) {
    fixed64(Double.doubleToRawLongBits(value));
  }

  void string(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    varint(bytes.length);
    out.appendBytes(bytes);
  }

  void bytes(Buffer data) {
    if (data.length() > WireCodec.MAX_BODY_BYTES) {
      throw new WireFormatException(
          "body: " + data.length() + " bytes (expected: at most " + WireCodec.MAX_BODY_BYTES + ")");
    }
    varint(data.length());
    if (data.length() < WireCodec.LARGE_BODY_BYTES) {
      out.appendBuffer(data);
    } else if (body == null) {
      body = data;
    } else {
      throw new WireFormatException("body: a second large one (expected: one in a message)");
    }
  }

  /** Returns the body that must follow all fields; null for none. */
  @Nullable Buffer body() {
    return body;
  }

  void headers(Headers headers) {
    varint(headers.size());
    headers.forEach(this);
  }

  /** Appends one header. */
  @Override
  public void accept(String name, String value) {
    string(name);
    string(value);
  }

  /** Appends sorted texts: equal maps give equal bytes, whatever their iteration order. */
  void texts(Map<String, String> texts) {
    varint(texts.size());
    texts.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(text -> accept(text.getKey(), text.getValue()));
  }

  void optionalInt(OptionalInt value) {
    bool(value.isPresent());
    value.ifPresent(this::int32);
  }

  /** Appends a flag for the presence of a value, which follows if present. */
  boolean isThere(@Nullable Object value) {
    bool(value != null);
    return value != null;
  }

  // --- values with a length prefix of 3 bytes ---

  /**
   * Reserves space for a length prefix. Returns the start of the value, to be passed to {@link
   * #end}.
   */
  int begin() {
    out.appendMedium(0);
    return out.length();
  }

  void record(Object value, MethodHandle components) {
    int start = begin();
    try {
      components.invokeExact(this, value);
    } catch (Throwable thrown) {
      throw RecordCodec.unchecked(thrown);
    }
    end(start);
  }

  void end(int start) {
    out.setMedium(start - LENGTH_BYTES, out.length() - start);
  }

  // --- records shared by messages ---

  void admission(Admission admission) {
    if (admission instanceof Admission.Token held) {
      byteValue(ADMISSION_TOKEN);
      fixed64(held.token().epoch());
      varint(held.token().sequence());
      fixed64(held.token().secret());
    } else if (admission == Admission.IfFree.IF_FREE) {
      byteValue(ADMISSION_IF_FREE);
    } else if (admission == Admission.NoSlot.NO_SLOT) {
      byteValue(ADMISSION_SLOTLESS);
    } else {
      // Sent only so that the receiver can refuse it by name.
      byteValue(ADMISSION_HELD);
    }
  }

  /**
   * Returns the body inside the message, which must be whole: a streamed body is sent in frames.
   */
  private static Buffer inlineBody(Request request) {
    if (request.body() instanceof Request.Body.Whole whole) {
      return whole.bytes();
    }
    throw new WireFormatException("body: streamed (expected: the first piece, whole)");
  }

  void request(Request request) {
    int start = begin();
    string(request.method());
    string(request.path());
    String query = request.query();
    bool(query != null);
    if (query != null) {
      string(query);
    }
    headers(request.headers());
    bytes(inlineBody(request));
    end(start);
  }

  void response(Response response) {
    int start = begin();
    int32(response.status());
    headers(response.headers());
    bytes(((Response.Body.Whole) response.body()).bytes());
    end(start);
  }

  void deployment(DeploymentId id) {
    deployment = id;
    string(id.application());
    string(id.name());
  }

  /** Appends nothing: the deployment must equal the one that was written last. */
  void lastDeployment(DeploymentId id) {
    if (!id.equals(deployment)) {
      throw new WireFormatException("deployment: " + id + " (expected: " + deployment + ")");
    }
  }

  void list(List<?> elements, MethodHandle each) {
    varint(elements.size());
    try {
      for (Object element : elements) {
        each.invokeExact(this, element);
      }
    } catch (Throwable thrown) {
      throw RecordCodec.unchecked(thrown);
    }
  }
}

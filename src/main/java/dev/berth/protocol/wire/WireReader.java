package dev.berth.protocol.wire;

import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.SlotToken;
import io.vertx.core.buffer.Buffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads primitive fields from a part of a buffer. Never reads past its end, and never allocates
 * more than the bytes that are there can fill: a length is checked before it is believed. Messages
 * name fields and lengths, never contents, which may be secrets.
 */
final class WireReader {
  /** Two names of a letter and its length, three counts, a double, a counter. */
  private static final int REPORT_LEAST_BYTES = 16;

  private final Buffer in;
  private int position;
  private final int end;

  WireReader(Buffer in, int position, int end) {
    this.in = in;
    this.position = position;
    this.end = end;
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

  long fixed64(String field) {
    require(field, Long.BYTES);
    long value = in.getLong(position);
    position += Long.BYTES;
    return value;
  }

  String string(String field) {
    int length = length(field);
    byte[] bytes = in.getBytes(position, position + length);
    position += length;
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** A copy: a slice would keep the whole socket read alive for as long as the request runs. */
  Buffer bytes(String field) {
    int length = length(field);
    if (length > WireCodec.MAX_BODY_BYTES) {
      throw new WireFormatException(
          field + ": " + length + " bytes (expected: at most " + WireCodec.MAX_BODY_BYTES + ")");
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

  /** A number of elements, each of which takes at least {@code leastBytes}. */
  int count(String field, int leastBytes) {
    long count = varint(field);
    if (count < 0 || count > remaining() / leastBytes) {
      throw new WireFormatException(
          field + ": more elements than bytes (expected: at most " + remaining() + " bytes)");
    }
    return (int) count;
  }

  <E extends Enum<E>> E enumValue(String field, E[] values) {
    int ordinal = byteValue(field);
    if (ordinal >= values.length) {
      throw new WireFormatException(
          field + ": " + ordinal + " (expected: 0 to " + (values.length - 1) + ")");
    }
    return values[ordinal];
  }

  // --- the records that messages share ---

  RouterAddress router() {
    return new RouterAddress(string("source.node"), int32("source.loop"));
  }

  AttemptId attempt() {
    return new AttemptId(
        fixed64("attempt.incarnation"), int32("attempt.router"), varint("attempt.counter"));
  }

  ReplicaAddress replica() {
    return new ReplicaAddress(
        string("target.node"),
        int32("target.loop"),
        int32("target.ordinal"),
        fixed64("target.epoch"));
  }

  SlotToken token() {
    return new SlotToken(fixed64("token.epoch"), varint("token.sequence"), fixed64("token.secret"));
  }

  @Nullable HandlerTime time() {
    return bool("time")
        ? new HandlerTime(varint("time.gatheredNanos"), varint("time.handledNanos"))
        : null;
  }

  Admission admission() {
    int form = byteValue("admission");
    return switch (form) {
      case WireCodec.ADMISSION_HELD -> Admission.Held.HELD;
      case WireCodec.ADMISSION_TOKEN -> new Admission.Token(token());
      case WireCodec.ADMISSION_IF_FREE -> new Admission.IfFree(signed("acceptWithinMs"));
      default -> throw new WireFormatException("admission: " + form + " (expected: 0 to 2)");
    };
  }

  Request request() {
    return Request.of(
        string("method"),
        string("path"),
        bool("query") ? string("query") : null,
        headers("headers"),
        bytes("body"));
  }

  List<HandleMetricReport> reports() {
    int count = count("handles", REPORT_LEAST_BYTES);
    List<HandleMetricReport> reports = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      reports.add(
          new HandleMetricReport(
              new DeploymentId(string("application"), string("deployment")),
              int32("queued"),
              int32("running"),
              int32("reserved"),
              Double.longBitsToDouble(fixed64("averageLoad")),
              varint("requests")));
    }
    return reports;
  }

  private int length(String field) {
    long length = varint(field);
    if (length < 0 || length > remaining()) {
      throw truncated(field, length);
    }
    return (int) length;
  }

  private void require(String field, int bytes) {
    if (bytes > remaining()) {
      throw truncated(field, bytes);
    }
  }

  private WireFormatException truncated(String field, long bytes) {
    return new WireFormatException(
        "%s: %s bytes, but %s are left (expected: a whole message)"
            .formatted(field, Long.toUnsignedString(bytes), remaining()));
  }
}

package dev.berth.protocol.wire;

import dev.berth.api.BerthException;
import dev.berth.api.Response;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.protocol.BusMessage.CheckRouting;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.BusMessage.PullRouting;
import dev.berth.protocol.BusMessage.ReleaseSlot;
import dev.berth.protocol.BusMessage.RenewLease;
import dev.berth.protocol.BusMessage.ReplicaLoad;
import dev.berth.protocol.BusMessage.RepullRouting;
import dev.berth.protocol.BusMessage.RequestCredit;
import dev.berth.protocol.BusMessage.RequestFrame;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.BusMessage.RoutingUpdate;
import dev.berth.protocol.BusMessage.SlotOffer;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.BusMessage.StreamCredit;
import dev.berth.protocol.BusMessage.StreamFrame;
import dev.berth.protocol.BusMessage.StreamReset;
import dev.berth.protocol.Refusal;
import io.vertx.core.buffer.Buffer;

/**
 * The binary form of a {@link BusMessage} between instances: version (1 byte), type (1), length of
 * what follows (4, big endian), then the fields in declared order. Small numbers are varints,
 * random ones 8 bytes, strings and buffers have their length in front.
 *
 * <p>Whoever changes a form raises {@link #VERSION}; types and enum values are only ever appended.
 */
public final class WireCodec {
  /** The form written, and the only one read. */
  public static final int VERSION = 7;

  /** The largest inline body or stream frame. */
  public static final int MAX_BODY_BYTES = 64 * 1024;

  /** The largest message, header included: a body and its headers, or a batch of metrics. */
  public static final int MAX_MESSAGE_BYTES = 1024 * 1024;

  private static final int HEADER_BYTES = 6;
  private static final int LENGTH_OFFSET = 2;

  private static final int CALL_REQUEST = 1;
  private static final int CANCEL_CALL = 2;
  private static final int STREAM_CREDIT = 3;
  private static final int RESERVE_SLOT = 4;
  private static final int RELEASE_SLOT = 5;
  private static final int RENEW_LEASE = 6;
  private static final int CALL_ACCEPTED = 7;
  private static final int CALL_REFUSED = 8;
  private static final int CALL_RESPONSE = 9;
  private static final int CALL_FAILED = 10;
  private static final int STREAM_FRAME = 11;
  private static final int STREAM_RESET = 12;
  private static final int SLOT_RESERVED = 13;
  private static final int REPLICA_LOAD = 14;
  private static final int SLOT_OFFER = 15;
  private static final int HANDLE_METRIC_BATCH = 16;
  private static final int REQUEST_FRAME = 17;
  private static final int REQUEST_CREDIT = 18;
  private static final int ROUTING_UPDATE = 19;
  private static final int PULL_ROUTING = 20;
  private static final int CHECK_ROUTING = 21;
  private static final int REPULL_ROUTING = 22;
  private static final int LAST_TYPE = REPULL_ROUTING;

  static final int ADMISSION_HELD = 0;
  static final int ADMISSION_TOKEN = 1;
  static final int ADMISSION_IF_FREE = 2;

  // values() copies its array at each call.
  private static final Refusal[] REFUSALS = Refusal.values();
  private static final BerthException.Kind[] KINDS = BerthException.Kind.values();

  private WireCodec() {}

  /**
   * Appends a message.
   *
   * @throws WireFormatException when it is over {@link #MAX_MESSAGE_BYTES}, or its body over {@link
   *     #MAX_BODY_BYTES}; the buffer then holds a part of it and is not to be sent
   */
  public static void encode(BusMessage message, Buffer out) {
    int start = out.length();
    out.appendByte((byte) VERSION).appendByte((byte) 0).appendInt(0);
    int type = writeFields(message, new WireWriter(out));
    int size = out.length() - start;
    if (size > MAX_MESSAGE_BYTES) {
      throw new WireFormatException(
          "message: " + size + " bytes (expected: at most " + MAX_MESSAGE_BYTES + ")");
    }
    out.setByte(start + 1, (byte) type);
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
    WireReader reader = new WireReader(in, fields, fields + length);
    BusMessage message;
    try {
      message = readFields(type, reader);
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

  /** Writes the fields and returns the type. Most frequent types first. */
  private static int writeFields(BusMessage message, WireWriter out) {
    if (message instanceof CallRequest m) {
      out.varint(m.callId());
      out.router(m.source());
      out.attempt(m.attempt());
      out.replica(m.target());
      out.admission(m.admission());
      out.signed(m.deadlineMs());
      out.int32(m.streamWindow());
      out.varint(m.waitedMicros());
      out.string(m.requestId());
      out.string(m.methodName());
      out.string(m.sessionId());
      out.request(m.request());
      out.bool(m.bodyFollows());
      out.bool(m.explained());
      return CALL_REQUEST;
    }
    if (message instanceof CallResponse m) {
      out.varint(m.callId());
      out.int32(m.response().status());
      out.headers(m.response().headers());
      out.bytes(m.body());
      out.signed(m.follows());
      out.varint(m.load());
      out.time(m.time());
      return CALL_RESPONSE;
    }
    if (message instanceof CallAccepted m) {
      out.varint(m.callId());
      out.varint(m.load());
      return CALL_ACCEPTED;
    }
    if (message instanceof CallRefused m) {
      out.varint(m.callId());
      out.byteValue(m.reason().ordinal());
      out.varint(m.load());
      return CALL_REFUSED;
    }
    if (message instanceof StreamFrame m) {
      out.varint(m.callId());
      out.int32(m.sequence());
      out.bytes(m.data());
      out.bool(m.last());
      out.varint(m.load());
      return STREAM_FRAME;
    }
    if (message instanceof RequestFrame m) {
      out.varint(m.callId());
      out.router(m.source());
      out.replica(m.target());
      out.int32(m.sequence());
      out.bytes(m.data());
      out.bool(m.last());
      return REQUEST_FRAME;
    }
    if (message instanceof RequestCredit m) {
      out.varint(m.callId());
      out.varint(m.limit());
      return REQUEST_CREDIT;
    }
    if (message instanceof StreamCredit m) {
      out.varint(m.callId());
      out.router(m.source());
      out.replica(m.target());
      out.varint(m.limit());
      return STREAM_CREDIT;
    }
    if (message instanceof StreamReset m) {
      out.varint(m.callId());
      out.byteValue(m.kind().ordinal());
      out.string(m.message());
      out.varint(m.load());
      return STREAM_RESET;
    }
    if (message instanceof CallFailed m) {
      out.varint(m.callId());
      out.byteValue(m.kind().ordinal());
      out.string(m.message());
      out.int32(m.statusCode());
      out.int32(m.retryAfterSeconds());
      out.varint(m.load());
      out.time(m.time());
      return CALL_FAILED;
    }
    if (message instanceof CancelCall m) {
      out.varint(m.callId());
      out.router(m.source());
      out.attempt(m.attempt());
      out.replica(m.target());
      out.bool(m.timedOut());
      return CANCEL_CALL;
    }
    return writeSlotFields(message, out);
  }

  private static int writeSlotFields(BusMessage message, WireWriter out) {
    if (message instanceof ReserveSlot m) {
      out.varint(m.callId());
      out.router(m.source());
      out.attempt(m.attempt());
      out.replica(m.target());
      out.signed(m.ttlMs());
      return RESERVE_SLOT;
    }
    if (message instanceof ReleaseSlot m) {
      out.router(m.source());
      out.attempt(m.attempt());
      out.replica(m.target());
      return RELEASE_SLOT;
    }
    if (message instanceof RenewLease m) {
      out.varint(m.callId());
      out.router(m.source());
      out.attempt(m.attempt());
      out.replica(m.target());
      out.token(m.token());
      out.signed(m.ttlMs());
      return RENEW_LEASE;
    }
    if (message instanceof SlotReserved m) {
      out.varint(m.callId());
      out.attempt(m.attempt());
      out.replica(m.target());
      out.token(m.token());
      out.signed(m.ttlMs());
      out.varint(m.load());
      return SLOT_RESERVED;
    }
    if (message instanceof SlotOffer m) {
      out.replica(m.target());
      out.attempt(m.attempt());
      out.token(m.token());
      out.signed(m.ttlMs());
      out.varint(m.load());
      return SLOT_OFFER;
    }
    if (message instanceof ReplicaLoad m) {
      out.replica(m.target());
      out.varint(m.load());
      return REPLICA_LOAD;
    }
    if (message instanceof HandleMetricBatch m) {
      out.string(m.node());
      out.fixed64(m.incarnation());
      out.varint(m.sequence());
      out.reports(m.handles());
      return HANDLE_METRIC_BATCH;
    }
    return writeRoutingFields(message, out);
  }

  private static int writeRoutingFields(BusMessage message, WireWriter out) {
    if (message instanceof RoutingUpdate m) {
      RoutingWire.write(m, out);
      return ROUTING_UPDATE;
    }
    if (message instanceof PullRouting m) {
      RoutingWire.write(m, out);
      return PULL_ROUTING;
    }
    if (message instanceof CheckRouting m) {
      RoutingWire.write(m, out);
      return CHECK_ROUTING;
    }
    if (message instanceof RepullRouting m) {
      RoutingWire.write(m, out);
      return REPULL_ROUTING;
    }
    throw new WireFormatException(
        "type: " + message.getClass().getSimpleName() + " (expected: one with a wire form)");
  }

  private static BusMessage readFields(int type, WireReader in) {
    return switch (type) {
      case CALL_REQUEST ->
          new CallRequest(
              in.varint("callId"),
              in.router(),
              in.attempt(),
              in.replica(),
              in.admission(),
              in.signed("deadlineMs"),
              in.int32("streamWindow"),
              in.varint("waitedMicros"),
              in.string("requestId"),
              in.string("methodName"),
              in.string("sessionId"),
              in.request(),
              in.bool("bodyFollows"),
              in.bool("explained"));
      case REQUEST_FRAME ->
          new RequestFrame(
              in.varint("callId"),
              in.router(),
              in.replica(),
              in.int32("sequence"),
              in.bytes("data"),
              in.bool("last"));
      case REQUEST_CREDIT -> new RequestCredit(in.varint("callId"), in.varint("limit"));
      case CANCEL_CALL ->
          new CancelCall(
              in.varint("callId"), in.router(), in.attempt(), in.replica(), in.bool("timedOut"));
      case STREAM_CREDIT ->
          new StreamCredit(in.varint("callId"), in.router(), in.replica(), in.varint("limit"));
      case RESERVE_SLOT ->
          new ReserveSlot(
              in.varint("callId"), in.router(), in.attempt(), in.replica(), in.signed("ttlMs"));
      case RELEASE_SLOT -> new ReleaseSlot(in.router(), in.attempt(), in.replica());
      case RENEW_LEASE ->
          new RenewLease(
              in.varint("callId"),
              in.router(),
              in.attempt(),
              in.replica(),
              in.token(),
              in.signed("ttlMs"));
      case CALL_ACCEPTED -> new CallAccepted(in.varint("callId"), in.varint("load"));
      case CALL_REFUSED ->
          new CallRefused(in.varint("callId"), in.enumValue("reason", REFUSALS), in.varint("load"));
      case CALL_RESPONSE ->
          new CallResponse(
              in.varint("callId"),
              Response.of(
                  in.int32("status"),
                  in.headers("headers"),
                  new Response.Body.Whole(in.bytes("body"))),
              (int) in.signed("follows"),
              in.varint("load"),
              in.time());
      case CALL_FAILED ->
          new CallFailed(
              in.varint("callId"),
              in.enumValue("kind", KINDS),
              in.string("message"),
              in.int32("statusCode"),
              in.int32("retryAfterSeconds"),
              in.varint("load"),
              in.time());
      case STREAM_FRAME ->
          new StreamFrame(
              in.varint("callId"),
              in.int32("sequence"),
              in.bytes("data"),
              in.bool("last"),
              in.varint("load"));
      case STREAM_RESET ->
          new StreamReset(
              in.varint("callId"),
              in.enumValue("kind", KINDS),
              in.string("message"),
              in.varint("load"));
      case SLOT_RESERVED ->
          new SlotReserved(
              in.varint("callId"),
              in.attempt(),
              in.replica(),
              in.token(),
              in.signed("ttlMs"),
              in.varint("load"));
      case REPLICA_LOAD -> new ReplicaLoad(in.replica(), in.varint("load"));
      case SLOT_OFFER ->
          new SlotOffer(
              in.replica(), in.attempt(), in.token(), in.signed("ttlMs"), in.varint("load"));
      case HANDLE_METRIC_BATCH ->
          new HandleMetricBatch(
              in.string("node"), in.fixed64("incarnation"), in.varint("sequence"), in.reports());
      case ROUTING_UPDATE -> RoutingWire.update(in);
      case PULL_ROUTING -> RoutingWire.pull(in);
      case CHECK_ROUTING -> RoutingWire.check(in);
      case REPULL_ROUTING -> RoutingWire.repull(in);
      default ->
          throw new WireFormatException("type: " + type + " (expected: 1 to " + LAST_TYPE + ")");
    };
  }
}

package dev.berth.protocol.wire;

import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import io.vertx.core.buffer.Buffer;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** The wire form between instances, of each message that an ordinary request needs. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class CodecBenchmark {
  /** The message, and the bytes of its body where it has one. */
  @Param({
    "CallRequest 0",
    "CallRequest 1024",
    "CallRequest 65536",
    "CallAccepted",
    "CallRefused",
    "CallResponse 0",
    "CallResponse 1024",
    "CallResponse 65536",
    "StreamFrame 100",
    "StreamFrame 65536",
    "RequestFrame 65536",
    "StreamCredit",
    "CancelCall"
  })
  public String message;

  private BusMessage decoded;
  private Buffer encoded;
  private Buffer out;

  @Setup
  public void setUp() {
    String[] parts = message.split(" ");
    Buffer body = Buffer.buffer(new byte[parts.length == 1 ? 0 : Integer.parseInt(parts[1])]);
    decoded = make(parts[0], body);
    encoded = Buffer.buffer();
    WireCodec.encode(decoded, encoded);
    out = Buffer.buffer(encoded.length());
  }

  private static BusMessage make(String name, Buffer body) {
    RouterAddress router = new RouterAddress("n-0123456789abcdef", 1);
    ReplicaAddress replica = new ReplicaAddress("n-fedcba9876543210", 0, 7, 1_234_567);
    AttemptId attempt = new AttemptId(0x0123456789abcdefL, 1, 1_234_567);
    Headers headers =
        Headers.of("content-type", "application/json", "accept", "*/*", "user-agent", "wrk/4.1.0");
    long load = LoadReport.of(3, 100, 12);
    return switch (name) {
      case "CallRequest" ->
          new BusMessage.CallRequest(
              1L << 33,
              router,
              attempt,
              replica,
              Admission.AcquiredSlot.HELD,
              30_000,
              -1,
              65_536,
              12,
              "0123456789abcdef-1234567",
              "",
              "",
              Request.of("POST", "/v1/predict", null, headers, body),
              false,
              false);
      case "CallAccepted" -> new BusMessage.CallAccepted(1L << 33, load);
      case "CallRefused" -> new BusMessage.CallRefused(1L << 33, Refusal.FULL, load);
      case "CallResponse" ->
          new BusMessage.CallResponse(
              1L << 33, Response.of(200, headers, new Response.Body.Whole(body)), 0, load, null);
      case "StreamFrame" -> new BusMessage.StreamFrame(1L << 33, 12, body, false, load);
      case "RequestFrame" ->
          new BusMessage.RequestFrame(1L << 33, router, replica, 12, body, false);
      case "StreamCredit" -> new BusMessage.StreamCredit(1L << 33, router, replica, 65_536);
      case "CancelCall" -> new BusMessage.CancelCall(1L << 33, router, attempt, replica, false);
      default ->
          throw new IllegalArgumentException("message: " + name + " (expected: a known one)");
    };
  }

  /** Into a buffer that is as long as it must be: copies of a body, without growing. */
  @Benchmark
  public Buffer encode() {
    Buffer into = Buffer.buffer(encoded.length());
    WireCodec.encode(decoded, into);
    return into;
  }

  @Benchmark
  public BusMessage decode() {
    return WireCodec.decode(0, encoded);
  }
}

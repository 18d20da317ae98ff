package dev.berth.ingress;

import dev.berth.api.Headers;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;

/** The headers' way through the ingress: eight of a request, and five of a response. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class HeaderBenchmark {
  private final MultiMap received =
      HttpHeaders.headers()
          .add("Host", "127.0.0.1:8000")
          .add("User-Agent", "curl/8.5.0")
          .add("Accept", "*/*")
          .add("Accept-Encoding", "gzip, br")
          .add("Content-Type", "application/json")
          .add("Content-Length", "123")
          .add("Authorization", "Bearer 0123456789abcdef")
          .add("X-Request-Id", "0123456789abcdef-1");
  private final Headers response =
      Headers.of(
          "Content-Type", "application/json",
          "Cache-Control", "no-store",
          "Transfer-Encoding", "chunked",
          "Connection", "keep-alive",
          "X-Model-Version", "17");

  /** In: a view, of which a handler reads one and hands on all. */
  @Benchmark
  public void received(Blackhole sink) {
    ReceivedHeaders headers = new ReceivedHeaders(received);
    sink.consume(headers.get("content-type"));
    headers.forEach(
        (name, value) -> {
          sink.consume(name);
          sink.consume(value);
        });
  }

  /** Out: those of the connection are left out, the rest is set. */
  @Benchmark
  public MultiMap passed() {
    MultiMap out = HttpHeaders.headers();
    response.forEach(
        (name, value) -> {
          if (!HopByHop.isDropped(name)) {
            out.add(name, value);
          }
        });
    return out;
  }
}

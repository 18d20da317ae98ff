package dev.berth.upstream.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Headers;
import dev.berth.upstream.client.PlayedRequest.PlainUpstream;
import dev.berth.upstream.client.PlayedRequest.PlayedUpstream;
import dev.berth.upstream.client.PlayedRequest.StreamUpstream;
import dev.berth.upstream.client.UpstreamRig.RecordedExchange;
import dev.berth.upstream.client.UpstreamTarget.HttpVersions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Behaviour of the client that both protocols share. */
@Timeout(60)
@ParameterizedClass
@EnumSource(names = {"HTTP_1", "HTTP_2"})
class UpstreamContractIT {
  @Parameter private HttpVersions versions;
  private UpstreamRig rig;
  private PlayedUpstream upstream;

  @BeforeEach
  void begin() throws Exception {
    rig = new UpstreamRig();
    rig.versions = versions;
    rig.use(rig.target(UpstreamRig.LONG, UpstreamRig.LONG));
    upstream = versions == HttpVersions.HTTP_1 ? new PlainUpstream(rig) : new StreamUpstream(rig);
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  private void roundTrip(boolean connects) throws Exception {
    RecordedExchange made = rig.get("/");
    upstream.next(connects).ok();
    made.expect("head 200", "piece ok", "end");
  }

  @Test
  void requestIsWrittenAndConnectionIsReused() throws Exception {
    RecordedExchange made = rig.send("POST", "/v1/x?y=1", 0, "hello");
    PlayedRequest request = upstream.next(true);
    assertThat(request.line).isEqualTo("POST /v1/x?y=1");
    assertThat(request.fields)
        .containsOnly(
            java.util.Map.entry("host", "127.0.0.1:" + rig.server.getLocalPort()),
            java.util.Map.entry("accept", "text/plain"),
            java.util.Map.entry("content-length", "5"));
    assertThat(request.body(5)).isEqualTo("hello");
    request.ok();
    made.expect("head 200", "piece ok", "end");
    rig.run(() -> made.exchange.cancel(0)); // over: no effect
    roundTrip(false);
    assertThat(made.events).isEmpty();
  }

  @Test
  void endedLeaseSendsNoRequestOverAnIdleConnection() throws Exception {
    roundTrip(true);
    rig.leaseEnded = true;
    rig.get("/").expect("failed not run: the node's lease has ended");
    rig.leaseEnded = false;
    roundTrip(false);
  }

  @Test
  void exchangesAreLimitedInAll() throws Exception {
    RecordedExchange first = rig.get("/1");
    PlayedRequest one = upstream.next(true);
    RecordedExchange second = rig.get("/2");
    PlayedRequest two = upstream.next(true);
    rig.get("/3").expect("failed not run: client: all connections in use");
    two.ok();
    second.expect("head 200", "piece ok", "end");
    one.ok();
    first.expect("head 200", "piece ok", "end");
  }

  @Test
  void streamedBodiesPassBothWays() throws Exception {
    RecordedExchange made = rig.send("POST", "/", UpstreamRequest.CHUNKED, null);
    Future<Void> early = rig.on(() -> made.exchange.write(Buffer.buffer("before ")));
    PlayedRequest request = upstream.next(true);
    assertThat(request.fields).doesNotContainKey("content-length");
    assertThat(request.body(7)).isEqualTo("before ");
    assertThat(rig.on(early::succeeded)).isTrue();
    rig.on(() -> made.exchange.write(Buffer.buffer("and after")));
    assertThat(request.body(9)).isEqualTo("and after");
    request.head(200, -1);
    request.piece("one");
    made.expect("head 200", "piece one");
    rig.run(made.exchange::end);
    request.piece("two");
    request.end();
    made.expect("piece two", "end");
  }

  @Test
  void bodyKeepsItsLength() throws Exception {
    RecordedExchange sized = rig.send("PUT", "/", 4, null);
    PlayedRequest request = upstream.next(true);
    assertThat(request.fields).containsEntry("content-length", "4");
    rig.on(() -> sized.exchange.write(Buffer.buffer("body")));
    assertThatThrownBy(() -> rig.on(() -> sized.exchange.write(Buffer.buffer("x"))))
        .hasRootCauseMessage("request body: longer than its length");
    rig.run(sized.exchange::end);
    assertThat(request.body(4)).isEqualTo("body");
    request.ok();
    sized.expect("head 200", "piece ok", "end");

    RecordedExchange brief = rig.send("PUT", "/", 4, null);
    upstream.next(false);
    rig.run(brief.exchange::end);
    brief.expect("failed unknown: request body: shorter than its length");
  }

  @Test
  void writesCompleteWhenTheUpstreamReads() throws Exception {
    RecordedExchange made = rig.send("POST", "/", 16 << 20, null);
    PlayedRequest request = upstream.next(true);
    Buffer part = Buffer.buffer(new byte[8 << 20]);
    Future<Void> last =
        rig.on(
            () -> {
              made.exchange.write(part);
              Future<Void> written = made.exchange.write(part);
              made.exchange.end();
              return written;
            });
    assertThat(rig.on(last::isComplete)).isFalse();
    if (request instanceof PlayedRequest.StreamRequest streams) {
      streams.grant(16 << 20);
    }
    assertThat(request.body(16 << 20)).hasSize(16 << 20);
    last.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
    request.ok();
    made.expect("head 200", "piece ok", "end");
  }

  @Test
  void responsesWithoutBodyEndWithTheHead() throws Exception {
    RecordedExchange head = rig.send("HEAD", "/", 0, "");
    PlayedRequest request = upstream.next(true);
    request.bare(200, 500);
    head.expect("head 200", "end");
    for (int status : new int[] {204, 304}) {
      RecordedExchange bare = rig.get("/");
      request = upstream.next(false);
      request.informational();
      request.bare(status, 0);
      bare.expect("head " + status, "end");
    }
  }

  private void cancel(RecordedExchange made, long graceNanos) throws Exception {
    rig.run(() -> made.exchange.cancel(graceNanos));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void cancelIsConfirmedByTheUpstream(boolean headed) throws Exception {
    RecordedExchange made = rig.get("/");
    PlayedRequest request = upstream.next(true);
    if (headed) {
      request.head(200, -1);
      made.expect("head 200");
    }
    cancel(made, UpstreamRig.LONG);
    assertThat(made.events).isEmpty();
    request.onCancel(true);
    made.expect("cancelled true");
    assertThat(rig.on(() -> made.exchange.write(Buffer.buffer("x")).failed())).isTrue();
    roundTrip(true);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void closeOfThePeerConfirmsACancel(boolean reset) throws Exception {
    RecordedExchange made = rig.get("/");
    PlayedRequest request = upstream.next(true);
    request.holdPings();
    cancel(made, UpstreamRig.LONG);
    request.disconnect(reset);
    made.expect("cancelled true");
    roundTrip(true);
  }

  @Test
  void cancelWithoutConfirmationEndsAfterTheGrace() throws Exception {
    RecordedExchange made = rig.get("/");
    PlayedRequest request = upstream.next(true);
    long begin = System.nanoTime();
    cancel(made, UpstreamRig.GRACE);
    request.onCancel(false);
    made.expect("cancelled false");
    assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(UpstreamRig.GRACE);
    assertThat(request.readEnd()).isIn("end", "reset");
  }

  @Test
  void cancelBeforeTheConnectSendsNothing() throws Exception {
    RecordedExchange made = new RecordedExchange();
    rig.on(
        () -> {
          UpstreamExchange exchange =
              rig.client.send(
                  new UpstreamRequest("GET", "/", Headers.empty(), 0), Buffer.buffer(), made);
          exchange.cancel(UpstreamRig.LONG);
          exchange.cancel(0);
          return exchange;
        });
    made.expect("cancelled true");
    roundTrip(true);
    assertThat(made.events).isEmpty();
  }

  @Test
  void refusedConnectIsNotRun() throws Exception {
    rig.server.close();
    RecordedExchange made = rig.send("POST", "/", UpstreamRequest.CHUNKED, null);
    Future<Void> waiting = rig.on(() -> made.exchange.write(Buffer.buffer("x")));
    assertThat(made.next()).startsWith("failed not run: connect: ");
    assertThat(rig.on(waiting::failed)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void closeAfterTheHeadIsUnknown(boolean reset) throws Exception {
    RecordedExchange made = rig.get("/");
    upstream.next(true).disconnect(reset);
    assertThat(made.next()).startsWith("failed unknown: response: closed by the upstream");
    roundTrip(true);
  }

  @Test
  void earlyResponseEndsTheExchange() throws Exception {
    RecordedExchange made = rig.send("POST", "/", 10, null);
    upstream.next(true).ok();
    made.expect("head 200", "piece ok", "end");
    roundTrip(true);
  }

  @Test
  void malformedResponseFails() throws Exception {
    RecordedExchange made = rig.get("/");
    upstream.next(true).garble();
    assertThat(made.next()).startsWith("failed unknown: ");
    roundTrip(true);
  }

  @Test
  void illegalPartsAreRefused() throws Exception {
    for (String path : List.of("/\r\nx: y", "/\n", "/\u0000", "x")) {
      assertThatThrownBy(() -> rig.get(path)).hasCauseInstanceOf(IllegalArgumentException.class);
    }
    roundTrip(true);
  }

  @Test
  void timeoutsEndAnExchange() throws Exception {
    rig.use(rig.target(UpstreamRig.GRACE, UpstreamRig.LONG));
    RecordedExchange slow = rig.send("POST", "/", UpstreamRequest.CHUNKED, null);
    upstream.next(true);
    rig.run(slow.exchange::end);
    slow.expect("failed unknown: response: timeout");

    rig.use(rig.target(UpstreamRig.LONG, UpstreamRig.GRACE));
    upstream = upstream.again();
    RecordedExchange silent = rig.get("/");
    upstream.next(true).head(200, -1);
    silent.expect("head 200", "failed unknown: response: no byte in time");

    RecordedExchange unread = rig.send("POST", "/", 64 << 20, null);
    upstream.next(true);
    rig.on(() -> unread.exchange.write(Buffer.buffer(new byte[64 << 20])));
    unread.expect("failed unknown: request: not read in time");
  }

  @Test
  void idleConnectionsClose() throws Exception {
    RecordedExchange made = rig.get("/");
    PlayedRequest request = upstream.next(true);
    request.ok();
    made.expect("head 200", "piece ok", "end");
    long begin = System.nanoTime();
    assertThat(request.readEnd()).isEqualTo("end");
    assertThat(System.nanoTime() - begin)
        .isBetween(TimeUnit.MILLISECONDS.toNanos(1_300), TimeUnit.MILLISECONDS.toNanos(5_000));
    upstream = upstream.again();
    roundTrip(true);
  }

  @Test
  void retargetMovesLaterExchanges() throws Exception {
    RecordedExchange busy = rig.get("/");
    PlayedRequest first = upstream.next(true);
    UpstreamRig other = new UpstreamRig();
    other.versions = versions;
    try {
      UpstreamTarget target = other.target(UpstreamRig.LONG, UpstreamRig.LONG);
      rig.run(() -> rig.client.retarget(target));
      RecordedExchange moved = rig.get("/");
      PlayedRequest second = upstream.of(other).next(true);
      assertThat(second.fields).containsEntry("host", "127.0.0.1:" + other.server.getLocalPort());
      second.ok();
      moved.expect("head 200", "piece ok", "end");
      first.ok();
      busy.expect("head 200", "piece ok", "end");
      assertThat(first.readEnd()).isEqualTo("end");
    } finally {
      other.close();
    }
  }

  @Test
  void closeResetsAllConnections() throws Exception {
    RecordedExchange busy = rig.get("/");
    PlayedRequest request = upstream.next(true);
    rig.client.close().toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
    busy.expect("cancelled false");
    assertThat(request.readEnd()).isEqualTo("reset");
    rig.get("/").expect("failed not run: client: closed");
  }

  private String probe(String path, int status) throws Exception {
    Promise<String> done = Promise.promise();
    rig.run(
        () ->
            rig.client.probe(
                path,
                UpstreamRig.GRACE * 5,
                problem -> done.complete(problem == null ? "well" : problem)));
    if (status == 0) {
      upstream.again().connect();
    } else if (status > 0) {
      PlayedRequest request = upstream.again().next(true);
      assertThat(request.line).isEqualTo("GET " + path);
      request.head(status, 0);
    }
    return done.future().toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }

  @Test
  void probesUseConnectionsOfTheirOwn() throws Exception {
    rig.get("/1");
    upstream.next(true);
    rig.get("/2");
    upstream.next(true);
    assertThat(probe(null, 0)).isEqualTo("well");
    assertThat(probe("/health", 204)).isEqualTo("well");
    assertThat(probe("/health", 503)).isEqualTo("status 503");
    rig.server.close();
    assertThat(probe(null, -1)).contains("Connection refused");
  }

  @Test
  void pauseLimitsTheBytesInFlight() throws Exception {
    RecordedExchange made = rig.get("/");
    PlayedRequest request = upstream.next(true);
    request.head(200, -1);
    made.expect("head 200");
    rig.run(made.exchange::pause);
    int size = 32 << 20;
    Thread sender = new Thread(() -> request.flood(size));
    sender.start();
    while (rig.on(() -> made.received) == 0 && versions == HttpVersions.HTTP_2) {
      Thread.onSpinWait();
    }
    assertThat(rig.on(() -> made.received)).isLessThanOrEqualTo(64 << 10);
    assertThat(sender.isAlive()).isTrue();
    rig.run(made.exchange::resume);
    sender.join();
    request.end();
    assertThat(made.next("piece")).isEqualTo("end");
    assertThat(made.received).isEqualTo(size);
  }
}

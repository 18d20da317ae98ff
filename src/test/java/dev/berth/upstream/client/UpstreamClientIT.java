package dev.berth.upstream.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Headers;
import dev.berth.upstream.client.UpstreamRig.RecordedExchange;
import dev.berth.upstream.client.UpstreamRig.RemotePeer;
import dev.berth.upstream.client.UpstreamTarget.HttpVersions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The client over real sockets, against upstreams that each test plays itself. */
@Timeout(60)
class UpstreamClientIT {
  private static final String HEAD = "HTTP/1.1 200 OK\r\n";
  private static final String OK = HEAD + "content-length: 2\r\n\r\nok";

  @TempDir private Path folder;
  private UpstreamRig rig;

  @BeforeEach
  void begin() throws Exception {
    rig = new UpstreamRig();
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  // --- exchanges ---

  @Test
  void connectionIsReusedAndRequestIsWritten() throws Exception {
    RecordedExchange first = rig.send("POST", "/v1/x?y=1", 0, "hello");
    RemotePeer peer = rig.accept();
    assertThat(peer.readHead())
        .isEqualTo(
            "POST /v1/x?y=1 HTTP/1.1\r\nhost: 127.0.0.1:%d\r\naccept: text/plain\r\n"
                    .formatted(rig.server.getLocalPort())
                + "content-length: 5\r\n\r\n");
    assertThat(peer.read(5)).isEqualTo("hello");
    peer.send(OK);
    first.expect("head 200", "piece ok", "end");
    rig.roundTrip(peer);
    rig.roundTrip(peer);
    first.exchange.cancel(0); // over: no effect
    rig.roundTrip(peer);
    assertThat(first.events).isEmpty();
  }

  @Test
  void exchangesAtTheSameTimeHaveOneConnectionEach() throws Exception {
    RecordedExchange first = rig.get("/1");
    RemotePeer one = rig.accept();
    RecordedExchange second = rig.get("/2");
    RemotePeer two = rig.accept();
    rig.get("/3").expect("failed not run: client: all connections in use");
    assertThat(two.readHead()).startsWith("GET /2 ");
    two.send(OK);
    second.expect("head 200", "piece ok", "end");
    assertThat(one.readHead()).startsWith("GET /1 ");
    one.send(OK);
    first.expect("head 200", "piece ok", "end");
    rig.roundTrip(one); // the last one in is the first one out
  }

  @Test
  void streamedBodiesAreFramedBothWays() throws Exception {
    RecordedExchange chunked = rig.send("POST", "/", UpstreamRequest.CHUNKED, null);
    Future<Void> early = rig.on(() -> chunked.exchange.write(Buffer.buffer("before ")));
    RemotePeer peer = rig.accept();
    assertThat(peer.readHead()).contains("transfer-encoding: chunked\r\n");
    assertThat(peer.read(12)).isEqualTo("7\r\nbefore \r\n");
    assertThat(rig.on(early::succeeded)).isTrue();
    rig.on(() -> chunked.exchange.write(Buffer.buffer("the connect, and after")));
    assertThat(peer.read(28)).isEqualTo("16\r\nthe connect, and after\r\n");
    peer.send(HEAD + "transfer-encoding: chunked\r\n\r\n3\r\none\r\n");
    chunked.expect("head 200", "piece one");
    rig.run(chunked.exchange::end);
    assertThat(peer.read(5)).isEqualTo("0\r\n\r\n");
    peer.send("3\r\ntwo\r\n0\r\n\r\n");
    chunked.expect("piece two", "end");

    RecordedExchange sized = rig.send("PUT", "/", 4, null);
    assertThat(peer.readHead()).contains("content-length: 4\r\n");
    rig.on(() -> sized.exchange.write(Buffer.buffer("body")));
    assertThatThrownBy(() -> rig.on(() -> sized.exchange.write(Buffer.buffer("x"))))
        .hasRootCauseMessage("request body: longer than its length");
    rig.run(sized.exchange::end);
    assertThat(peer.read(4)).isEqualTo("body");
    peer.send(OK);
    sized.expect("head 200", "piece ok", "end");
    rig.roundTrip(peer);
  }

  /** As of a server that closes after a stream, although it announces Keep-Alive. */
  @Test
  void requestAfterAnEventStreamMeetsNoClosingConnection() throws Exception {
    String type = "Content-Type: text/event-stream; charset=utf-8\r\n";
    for (int round = 0; round < 5; round++) {
      RecordedExchange stream = rig.get("/");
      RemotePeer peer = rig.accept();
      peer.readHead();
      peer.send(HEAD + type + "transfer-encoding: chunked\r\n\r\n1\r\n:\r\n0\r\n\r\n");
      stream.expect("head 200", "piece :", "end");
      peer.socket.close(); // less than 100 ms later
    }
  }

  @Test
  void shortBodyFailsItsExchange() throws Exception {
    RecordedExchange sized = rig.send("PUT", "/", 4, null);
    RemotePeer peer = rig.accept();
    peer.readHead();
    rig.run(sized.exchange::end);
    sized.expect("failed unknown: request body: shorter than its length");
    assertThat(peer.readEnd()).isEqualTo("reset");
  }

  @Test
  void responsesWithoutLengthEndWithTheConnection() throws Exception {
    RecordedExchange made = rig.get("/");
    RemotePeer peer = rig.accept();
    peer.readHead();
    peer.send("HTTP/1.0 200 OK\r\n\r\nall");
    made.expect("head 200", "piece all");
    peer.socket.close();
    made.expect("end");

    RecordedExchange cut = rig.get("/");
    peer = rig.accept();
    peer.readHead();
    peer.send("HTTP/1.0 200 OK\r\n\r\nhalf");
    cut.expect("head 200", "piece half");
    peer.reset();
    assertThat(cut.next()).startsWith("failed unknown: response: closed by the upstream: ");
  }

  @Test
  void responsesWithoutBodyLeaveTheConnectionUsable() throws Exception {
    RemotePeer peer = rig.roundTrip(null);
    RecordedExchange head = rig.send("HEAD", "/", 0, "");
    peer.readHead();
    peer.send(HEAD + "content-length: 500\r\n\r\n");
    head.expect("head 200", "end");
    for (int status : new int[] {204, 304}) {
      RecordedExchange bare = rig.get("/");
      peer.readHead();
      peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 " + status + " X\r\n\r\n");
      bare.expect("head " + status, "end");
    }
    rig.roundTrip(peer);
  }

  // --- flow ---

  @Test
  void pauseStopsReadingFromTheSocket() throws Exception {
    ServerSocketChannel server = ServerSocketChannel.open();
    server.bind(new InetSocketAddress("127.0.0.1", 0));
    rig.close();
    rig = new UpstreamRig(server.socket());
    RecordedExchange made = rig.get("/");
    try (SocketChannel peer = server.accept()) {
      new RemotePeer(peer.socket()).readHead();
      peer.write(ByteBuffer.wrap((HEAD + "\r\n").getBytes()));
      made.expect("head 200");
      rig.run(made.exchange::pause);
      peer.configureBlocking(false);
      ByteBuffer part = ByteBuffer.allocate(64 * 1024);
      long written = 0;
      int refused = 0;
      while (refused < 100) { // the kernel moves bytes from one socket's buffer to the other's
        part.clear();
        int bytes = peer.write(part);
        written += bytes;
        refused = bytes == 0 ? refused + 1 : 0;
        if (bytes == 0) {
          rig.on(() -> made.received); // a turn of the loop
        }
      }
      assertThat(made.received).isLessThanOrEqualTo(64 * 1024);
      assertThat(written).isGreaterThan(made.received);
      rig.run(made.exchange::resume);
      peer.configureBlocking(true);
      part.clear();
      written += peer.write(part);
      peer.shutdownOutput();
      made.expect("end");
      assertThat(made.received).isEqualTo(written);
    }
  }

  @Test
  void writesCompleteWhenTheSocketAcceptsThem() throws Exception {
    RecordedExchange made = rig.send("POST", "/", 64 << 20, null);
    RemotePeer peer = rig.accept();
    peer.readHead();
    Buffer part = Buffer.buffer(new byte[16 << 20]);
    Future<Void> first = rig.on(() -> made.exchange.write(part));
    Future<Void> last =
        rig.on(
            () -> {
              made.exchange.write(part);
              made.exchange.write(part);
              Future<Void> written = made.exchange.write(part);
              made.exchange.end();
              return written;
            });
    assertThat(rig.on(last::isComplete)).isFalse();
    peer.socket.getInputStream().readNBytes(64 << 20);
    last.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
    assertThat(rig.on(first::succeeded)).isTrue();
    peer.send(OK);
    made.expect("head 200", "piece ok", "end");
    rig.roundTrip(peer);
  }

  // --- cancel ---

  private void cancel(RecordedExchange made, long graceNanos) throws Exception {
    rig.run(
        () -> {
          made.exchange.cancel(graceNanos);
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nxxx"})
  void closeOfThePeerConfirmsACancel(String sent) throws Exception {
    RecordedExchange made = rig.get("/");
    RemotePeer peer = rig.accept();
    peer.readHead();
    peer.send(sent);
    if (!sent.isEmpty()) {
      made.expect("head 200");
    }
    cancel(made, UpstreamRig.LONG);
    assertThat(peer.readEnd()).isEqualTo("end"); // a shut output, not a reset
    made.events.removeIf(event -> event.startsWith("piece"));
    assertThat(made.events).isEmpty();
    peer.send("dropped");
    peer.socket.close();
    made.expect("cancelled true");
    assertThat(rig.on(() -> made.exchange.write(Buffer.buffer("x")).failed())).isTrue();
    rig.roundTrip(null);
  }

  @Test
  void resetOfThePeerAndEndOfTheResponseConfirmACancel() throws Exception {
    RecordedExchange made = rig.get("/");
    RemotePeer peer = rig.accept();
    peer.readHead();
    cancel(made, UpstreamRig.LONG);
    peer.reset();
    made.expect("cancelled true");

    RecordedExchange ended = rig.get("/");
    peer = rig.accept();
    peer.readHead();
    cancel(ended, UpstreamRig.LONG);
    peer.send(OK); // and stays open
    ended.expect("cancelled true");
    assertThat(peer.readEnd()).isEqualTo("end");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "HTTP/1.1 200 OK\r\n\r\nxxx", "garbage"})
  void cancelWithoutCloseEndsInAResetAfterTheGrace(String sent) throws Exception {
    RecordedExchange made = rig.get("/");
    RemotePeer peer = rig.accept();
    peer.readHead();
    long begin = System.nanoTime();
    cancel(made, UpstreamRig.GRACE);
    peer.send(sent);
    made.expect("cancelled false");
    assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(UpstreamRig.GRACE);
    assertThatThrownBy(
            () -> {
              while (true) { // the first write may precede the reset
                peer.send("x");
              }
            })
        .isInstanceOf(java.net.SocketException.class);
  }

  // --- failures ---

  @ParameterizedTest
  @CsvSource({"true, true", "true, false", "false, true", "false, false"})
  void closeAfterTheHeadIsUnknown(boolean reused, boolean reset) throws Exception {
    RemotePeer idle = reused ? rig.roundTrip(null) : null;
    RecordedExchange made = rig.get("/");
    RemotePeer peer = reused ? idle : rig.accept();
    peer.readHead();
    if (reset) {
      peer.reset();
    } else {
      peer.socket.close();
    }
    assertThat(made.next()).startsWith("failed unknown: response: closed by the upstream");
    rig.roundTrip(null);
  }

  @ParameterizedTest
  @CsvSource({"content-length: 3, end", "x: y, failed"})
  void responseBeforeAResetIsReadAfterAFailedWrite(String field, String end) throws Exception {
    RecordedExchange made = rig.send("POST", "/", UpstreamRequest.CHUNKED, null);
    RemotePeer peer = rig.accept();
    peer.readHead();
    Future<Void> later =
        rig.on(
            () -> { // the loop reads nothing meanwhile
              made.exchange.write(Buffer.buffer("unread"));
              peer.send("HTTP/1.1 413 X\r\n" + field + "\r\n\r\nbig");
              peer.socket.close(); // resets the connection, since it has not read the body
              while (!made.exchange.write(Buffer.buffer("x")).failed()) {}
              return made.exchange.write(Buffer.buffer("x"));
            });
    made.expect("head 413", "piece big");
    assertThat(made.next()).startsWith(end);
    assertThat(rig.on(later::failed)).isTrue();
    rig.run(made.exchange::end);
    rig.roundTrip(null);
  }

  @Test
  void earlyResponseClosesTheConnection() throws Exception {
    RecordedExchange made = rig.send("POST", "/", 10, null);
    RemotePeer peer = rig.accept();
    peer.readHead();
    peer.send(OK);
    made.expect("head 200", "piece ok", "end");
    assertThat(peer.readEnd()).isEqualTo("end");
    rig.roundTrip(null);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n"
      })
  void malformedResponseFailsAndCloses(String response) throws Exception {
    RecordedExchange made = rig.get("/");
    RemotePeer peer = rig.accept();
    peer.readHead();
    peer.send(response);
    assertThat(made.next()).startsWith("failed unknown: ");
    assertThat(peer.readEnd()).isEqualTo("reset");
    rig.roundTrip(null);
  }

  @Test
  void endlessHeadFailsAt64Kib() throws Exception {
    RecordedExchange made = rig.get("/");
    RemotePeer peer = rig.accept();
    peer.readHead();
    assertThatThrownBy(
            () -> {
              peer.send(HEAD);
              while (true) {
                peer.send("x-filler: " + "a".repeat(1_000) + "\r\n");
              }
            })
        .isInstanceOf(java.net.SocketException.class);
    made.expect("failed unknown: head: over 64 KiB");
  }

  @Test
  void illegalPartsAreRefusedWithoutAConnection() throws Exception {
    for (String path : List.of("/\r\nx: y", "/\n", "/\u0000", "x")) {
      assertThatThrownBy(() -> rig.get(path)).hasCauseInstanceOf(IllegalArgumentException.class);
    }
    rig.roundTrip(null);
  }

  @Test
  void timeoutsEndAnExchange() throws Exception {
    rig.use(rig.target(UpstreamRig.GRACE, UpstreamRig.LONG));
    RecordedExchange slow = rig.send("POST", "/", UpstreamRequest.CHUNKED, null);
    RemotePeer peer = rig.accept();
    peer.readHead();
    rig.run(slow.exchange::end);
    peer.send("HTTP/1.1 200"); // a part of a head is no progress
    slow.expect("failed unknown: response: timeout");

    rig.use(rig.target(UpstreamRig.LONG, UpstreamRig.GRACE));
    RecordedExchange silent = rig.get("/");
    peer = rig.accept();
    peer.readHead();
    peer.send(HEAD + "\r\n");
    silent.expect("head 200", "failed unknown: response: no byte in time");

    RecordedExchange unread = rig.send("POST", "/", 64 << 20, null);
    peer = rig.accept();
    rig.on(() -> unread.exchange.write(Buffer.buffer(new byte[64 << 20])));
    unread.expect("failed unknown: request: not read in time");
  }

  // --- idle connections ---

  @Test
  void idleConnectionsClose() throws Exception {
    RemotePeer peer = rig.roundTrip(null);
    long begin = System.nanoTime();
    assertThat(peer.readEnd()).isEqualTo("end");
    assertThat(System.nanoTime() - begin)
        .isBetween(TimeUnit.MILLISECONDS.toNanos(1_300), TimeUnit.MILLISECONDS.toNanos(5_000));
    for (int seconds : new int[] {1, 2}) {
      RecordedExchange made = rig.get("/");
      peer = rig.accept();
      peer.readHead();
      begin = System.nanoTime();
      peer.send(HEAD + "keep-alive: timeout=" + seconds + "\r\ncontent-length: 0\r\n\r\n");
      made.expect("head 200", "end");
      assertThat(peer.readEnd()).isEqualTo("end");
      assertThat(System.nanoTime() - begin)
          .isLessThan(TimeUnit.MILLISECONDS.toNanos(1_000L * (seconds - 1) + 450));
    }
  }

  @Test
  void bytesOnAnIdleConnectionCloseIt() throws Exception {
    RemotePeer peer = rig.roundTrip(null);
    peer.send(OK);
    assertThat(peer.readEnd()).isEqualTo("reset");
    RecordedExchange more = rig.get("/");
    peer = rig.accept();
    peer.readHead();
    peer.send(OK + OK);
    more.expect("head 200", "piece ok", "end");
    assertThat(peer.readEnd()).isIn("end", "reset");
    rig.roundTrip(null);
  }

  @Test
  void closedIdleConnectionIsNotReused() throws Exception {
    RemotePeer peer = rig.roundTrip(null);
    peer.socket.shutdownOutput();
    assertThat(peer.readEnd()).isIn("end", "reset"); // the client has read the end
    RecordedExchange made = rig.get("/");
    RemotePeer next = rig.accept();
    next.readHead();
    next.send(HEAD + "connection: close\r\ncontent-length: 0\r\n\r\n");
    made.expect("head 200", "end");
    assertThat(next.readEnd()).isEqualTo("end");
  }

  @Test
  void leaseThatEndsDuringTheConnectSendsNoRequest() throws Exception {
    RecordedExchange late = new RecordedExchange();
    rig.run(
        () -> {
          UpstreamRequest request = new UpstreamRequest("GET", "/", Headers.empty(), 0);
          late.exchange = rig.client.send(request, Buffer.buffer(), late);
          rig.leaseEnded = true;
        });

    late.expect("failed not run: the node's lease has ended");
    assertThat(rig.accept().readEnd()).isEqualTo("reset");
  }

  @Test
  void retargetMovesLaterExchanges() throws Exception {
    RecordedExchange busy = rig.get("/");
    RemotePeer first = rig.accept();
    first.readHead();
    RemotePeer idle = rig.roundTrip(null);
    UpstreamRig other = new UpstreamRig();
    try {
      UpstreamTarget target = other.target(UpstreamRig.LONG, UpstreamRig.LONG);
      rig.run(
          () -> {
            rig.client.retarget(target);
          });
      assertThat(idle.readEnd()).isEqualTo("end");
      first.send(OK);
      busy.expect("head 200", "piece ok", "end");
      assertThat(first.readEnd()).isEqualTo("end");
      RecordedExchange moved = rig.get("/");
      RemotePeer peer = other.accept();
      assertThat(peer.readHead()).contains("host: 127.0.0.1:" + other.server.getLocalPort());
      peer.send(OK);
      moved.expect("head 200", "piece ok", "end");
    } finally {
      other.close();
    }
  }

  @Test
  void closeResetsAllConnections() throws Exception {
    RemotePeer idle = rig.roundTrip(null);
    RecordedExchange busy = rig.get("/");
    idle.readHead();
    RecordedExchange other = rig.get("/");
    RemotePeer second = rig.accept();
    rig.client.close().toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
    busy.expect("cancelled false");
    assertThat(other.next()).isIn("failed not run: client: closed", "cancelled false");
    assertThat(idle.readEnd()).isEqualTo("reset");
    assertThat(second.readEnd()).isIn("end", "reset"); // perhaps still connecting
    rig.get("/").expect("failed not run: client: closed");
  }

  // --- probes ---

  private Future<String> probe(String path) throws Exception {
    Promise<String> done = Promise.promise();
    rig.run(
        () -> {
          rig.client.probe(
              path,
              UpstreamRig.GRACE * 5,
              problem -> done.complete(problem == null ? "well" : problem));
        });
    return done.future();
  }

  private static String result(Future<String> probe) throws Exception {
    return probe.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }

  @Test
  void probesUseConnectionsOfTheirOwn() throws Exception {
    rig.get("/1");
    rig.accept();
    rig.get("/2");
    rig.accept();
    Future<String> connect = probe(null);
    RemotePeer peer = rig.accept();
    assertThat(peer.readEnd()).isEqualTo("end");
    assertThat(result(connect)).isEqualTo("well");
    for (int status : new int[] {204, 302, 404, 503}) {
      Future<String> request = probe("/health");
      peer = rig.accept();
      assertThat(peer.readHead()).startsWith("GET /health HTTP/1.1\r\n");
      peer.send("HTTP/1.1 " + status + " X\r\ncontent-length: 0\r\n\r\n");
      assertThat(result(request)).isEqualTo(status < 400 ? "well" : "status " + status);
      assertThat(peer.readEnd()).isEqualTo("end");
    }
    Future<String> silent = probe("/health");
    peer = rig.accept();
    assertThat(result(silent)).isEqualTo("response: timeout");
    assertThat(peer.readEnd()).isEqualTo("reset");
    rig.server.close();
    assertThat(result(probe(null))).contains("Connection refused");
  }

  // --- addresses ---

  @Test
  void eachConnectResolvesAndChecksTheName() throws Exception {
    AtomicReference<List<String>> answer = new AtomicReference<>(List.of("127.0.0.1"));
    UpstreamTarget target =
        rig.target(
            "models.example",
            null,
            UpstreamRig.timeouts(UpstreamRig.LONG, UpstreamRig.LONG),
            UpstreamRig.ANY);
    rig.use(
        target,
        host ->
            rig.loop
                .nettyEventLoop()
                .newSucceededFuture(
                    answer.get().stream().map(each -> new InetSocketAddress(each, 0)).toList()));
    RemotePeer peer = rig.roundTrip(null);
    RecordedExchange busy = rig.get("/");
    assertThat(peer.readHead())
        .contains("host: models.example:" + rig.server.getLocalPort() + "\r\n");
    answer.set(List.of("169.254.169.254")); // rebound
    assertThat(rig.get("/").next())
        .startsWith("failed not run: address 169.254.169.254: link-local");
    answer.set(List.of());
    rig.get("/").expect("failed not run: name: no address");
    answer.set(List.of("169.254.169.254", "127.0.0.1")); // the first permitted one
    rig.roundTrip(null);
    peer.send(OK);
    busy.expect("head 200", "piece ok", "end");
  }

  @Test
  void failedConnectTriesTheNextPermittedAddress() throws Exception {
    AtomicReference<List<String>> answer =
        new AtomicReference<>(List.of("127.0.0.2", "169.254.169.254", "127.0.0.1"));
    rig.use(
        rig.target("models.example", null, UpstreamRig.timeouts(0, 0), UpstreamRig.ANY),
        host ->
            rig.loop
                .nettyEventLoop()
                .newSucceededFuture(
                    answer.get().stream().map(each -> new InetSocketAddress(each, 0)).toList()));
    RemotePeer peer = rig.roundTrip(null);
    RecordedExchange busy = rig.get("/");
    peer.readHead();
    answer.set(List.of("127.0.0.2", "127.0.0.3", "169.254.169.254"));
    assertThat(rig.get("/").next()).startsWith("failed not run: connect: ").contains("127.0.0.2");
    peer.send(OK);
    busy.expect("head 200", "piece ok", "end");
  }

  @Test
  void ownPortsAndUnknownNamesAreNotRun() throws Exception {
    AddressPolicy own =
        new AddressPolicy(false, Set.of(rig.server.getLocalPort()), Set.<InetAddress>of());
    rig.use(rig.target("localhost", null, UpstreamRig.timeouts(0, 0), own));
    assertThat(rig.get("/").next()).startsWith("failed not run: port ");
    rig.use(rig.target("no-such-name.invalid", null, UpstreamRig.timeouts(0, 0), own));
    assertThat(rig.get("/").next()).startsWith("failed not run: ");
  }

  @Test
  void onlyAddressTakesThePlaceOfTheNamesAddresses() throws Exception {
    String name = "no-such-name.invalid";
    AddressPolicy only = UpstreamRig.ANY.only("127.0.0.1");
    rig.use(rig.target(name, null, UpstreamRig.timeouts(0, 0), only));
    RecordedExchange made = rig.get("/");
    RemotePeer peer = rig.accept();
    assertThat(peer.readHead()).contains("host: " + name + ":" + rig.server.getLocalPort());
    peer.send(OK);
    made.expect("head 200", "piece ok", "end");
    AddressPolicy refused = UpstreamRig.ANY.only("169.254.169.254");
    rig.use(rig.target("localhost", null, UpstreamRig.timeouts(0, 0), refused));
    assertThat(rig.get("/").next()).startsWith("failed not run: address 169.254.169.254");
  }

  @Test
  void nameAddressesComeFromTheResolverOfTheConnects() throws Exception {
    assertThat(rig.on(() -> NameAddresses.find(rig.loop, "localhost")).await(20, TimeUnit.SECONDS))
        .contains("127.0.0.1");
    assertThatThrownBy(
            () ->
                rig.on(() -> NameAddresses.find(rig.loop, "no-such-name.invalid"))
                    .await(20, TimeUnit.SECONDS))
        .isInstanceOf(UnknownHostException.class);
  }

  @Test
  void unixSocketsTakeThePlaceOfAHost() throws Exception {
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("up.sock"));
    UpstreamTarget unix =
        new UpstreamTarget(
            "localhost",
            80,
            address.toString(),
            null,
            UpstreamRig.timeouts(0, 0),
            2,
            UpstreamRig.ANY,
            UpstreamRig.choice(HttpVersions.HTTP_1));
    rig.use(unix);
    assertThat(rig.get("/").next()).startsWith("failed not run: connect: ");
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(address);
      RecordedExchange made = rig.get("/");
      try (SocketChannel peer = server.accept()) {
        byte[] head = new byte[16];
        Channels.newInputStream(peer).readNBytes(head, 0, 16);
        assertThat(new String(head)).startsWith("GET / HTTP/1.1\r\n");
        peer.write(ByteBuffer.wrap((HEAD + "\r\nok").getBytes()));
        made.expect("head 200", "piece ok");
        cancel(made, UpstreamRig.LONG);
      }
      made.expect("cancelled true");
    }
  }
}

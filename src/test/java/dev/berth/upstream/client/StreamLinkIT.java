package dev.berth.upstream.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.ingress.Certificates;
import dev.berth.upstream.client.StreamPeer.PeerFrame;
import dev.berth.upstream.client.UpstreamRig.RecordedExchange;
import dev.berth.upstream.client.UpstreamTarget.HttpVersions;
import io.netty.buffer.ByteBufUtil;
import io.netty.pkitesting.X509Bundle;
import io.netty.util.ResourceLeakDetector;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** HTTP/2 towards upstreams that each test plays itself, also hostile ones. */
@Timeout(60)
class StreamLinkIT {
  private final Queue<String> leaks = new ConcurrentLinkedQueue<>();
  private ResourceLeakDetector.Level level;
  private UpstreamRig rig;

  @BeforeEach
  void begin() throws Exception {
    level = ResourceLeakDetector.getLevel();
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
    ByteBufUtil.setLeakListener((type, records) -> leaks.add(records));
    rig = new UpstreamRig();
    rig.versions = HttpVersions.HTTP_2;
    use(UpstreamRig.LONG, UpstreamRig.LONG, 3);
  }

  private void use(long firstByte, long idle, int max) {
    rig.max = max;
    rig.use(rig.target(firstByte, idle));
  }

  /** The client has no exchange left, and no buffer was lost. */
  @AfterEach
  void close() throws Exception {
    rig.run(rig.client::end);
    rig.client.close().toCompletionStage().toCompletableFuture().join();
    assertThat(rig.client.ongoing()).isZero();
    rig.close();
    for (int i = 0; i < 3; i++) {
      System.gc();
      io.netty.buffer.ByteBufAllocator.DEFAULT.buffer().release(); // reports what was collected
    }
    ResourceLeakDetector.setLevel(level);
    ByteBufUtil.setLeakListener((type, records) -> {});
    assertThat(leaks).isEmpty();
  }

  private StreamPeer accept(int... settings) throws Exception {
    return new StreamPeer(rig.server.accept()).open(settings);
  }

  private static int head(StreamPeer peer) throws Exception {
    PeerFrame frame = peer.read(StreamPeer.HEADERS);
    peer.head(frame);
    return frame.stream();
  }

  private void answer(StreamPeer peer, RecordedExchange made) throws Exception {
    peer.ok(head(peer));
    made.expect("head 200", "piece ok", "end");
  }

  // --- streams ---

  @Test
  void lowLimitOfStreamsOpensFurtherConnections() throws Exception {
    RecordedExchange[] all = {rig.get("/1"), rig.get("/2"), rig.get("/3")}; // before the SETTINGS
    StreamPeer one = accept(StreamPeer.MAX_CONCURRENT_STREAMS, 1);
    int stream = head(one);
    StreamPeer two = accept(StreamPeer.MAX_CONCURRENT_STREAMS, 1);
    StreamPeer three = accept(StreamPeer.MAX_CONCURRENT_STREAMS, 1);
    two.ok(head(two));
    three.ok(head(three));
    one.ok(stream);
    for (RecordedExchange each : all) {
      each.expect("head 200", "piece ok", "end");
    }
    RecordedExchange[] reused = {rig.get("/1"), rig.get("/2"), rig.get("/3")};
    one.ok(head(one));
    two.ok(head(two));
    three.ok(head(three));
    for (RecordedExchange each : reused) {
      each.expect("head 200", "piece ok", "end");
    }
  }

  @Test
  void exchangesShareAConnection() throws Exception {
    RecordedExchange first = rig.get("/1");
    RecordedExchange second = rig.get("/2");
    StreamPeer peer = accept();
    int one = head(peer);
    int two = head(peer);
    answer(peer, rig.get("/3"));
    peer.ok(one);
    first.expect("head 200", "piece ok", "end");
    peer.ok(two);
    second.expect("head 200", "piece ok", "end");
  }

  @Test
  void peerWithoutStreamsIsNotRun() throws Exception {
    RecordedExchange made = rig.get("/");
    StreamPeer peer = accept(StreamPeer.MAX_CONCURRENT_STREAMS, 0);
    made.expect("failed not run: connect: the upstream permits no streams");
    assertThat(peer.readEnd()).isIn("end", "reset");
  }

  @ParameterizedTest
  @CsvSource({"7, false, not run", "7, true, unknown", "2, false, unknown", "0, false, unknown"})
  void resetStreamIsNotRunIfRefused(int code, boolean headed, String effect) throws Exception {
    RecordedExchange made = rig.get("/");
    StreamPeer peer = accept();
    int stream = head(peer);
    if (headed) {
      peer.sendHead(stream, false, "200");
      made.expect("head 200");
    }
    peer.sendInts(StreamPeer.RST_STREAM, stream, code);
    assertThat(made.next()).startsWith("failed " + effect + ": response: reset by the upstream: ");
    answer(peer, rig.get("/")); // on the same connection
  }

  @Test
  void goAwayRefusesLaterStreams() throws Exception {
    RecordedExchange kept = rig.get("/1");
    RecordedExchange refused = rig.get("/2");
    RecordedExchange cancelled = rig.get("/3");
    StreamPeer peer = accept();
    peer.acksPings = false;
    int stream = head(peer);
    head(peer);
    head(peer);
    rig.run(() -> cancelled.exchange.cancel(UpstreamRig.LONG));
    for (int i = 0; i < 100; i++) {
      peer.sendInts(StreamPeer.GOAWAY, 0, Integer.MAX_VALUE, 0); // graceful, many times
    }
    peer.sendInts(StreamPeer.GOAWAY, 0, stream, 0);
    refused.expect("failed not run: GOAWAY: NO_ERROR");
    cancelled.expect("cancelled true");
    RecordedExchange next = rig.get("/4");
    StreamPeer other = accept();
    answer(other, next);
    peer.ok(stream);
    kept.expect("head 200", "piece ok", "end");
    assertThat(peer.readEnd()).isEqualTo("end");
  }

  @Test
  void trailersEndAResponse() throws Exception {
    RecordedExchange made = rig.get("/");
    StreamPeer peer = accept();
    int stream = head(peer);
    peer.sendHead(stream, false, "200");
    peer.sendData(stream, false, "all");
    peer.sendHead(stream, true, "grpc-status", "0");
    made.expect("head 200", "piece all", "end");
  }

  @Test
  void earlyResponseResetsTheUpload() throws Exception {
    RecordedExchange made = rig.send("POST", "/", 1 << 20, null);
    rig.on(() -> made.exchange.write(Buffer.buffer(new byte[1 << 20]))); // beyond the window
    StreamPeer peer = accept();
    int stream = head(peer);
    peer.ok(stream);
    made.expect("head 200", "piece ok", "end");
    assertThat(peer.read(StreamPeer.RST_STREAM).stream()).isEqualTo(stream);
    answer(peer, rig.get("/"));
  }

  @Test
  void slowReaderStopsNoOtherStream() throws Exception {
    RecordedExchange slow = rig.get("/slow");
    StreamPeer peer = accept();
    int stream = head(peer);
    rig.run(slow.exchange::pause);
    peer.sendHead(stream, false, "200");
    for (int i = 0; i < 4; i++) { // the window of the stream
      peer.sendData(stream, false, "x".repeat(1 << 14));
    }
    RecordedExchange quick = rig.get("/quick");
    int other = head(peer);
    peer.sendHead(other, false, "200");
    for (int i = 0; i < 64; i++) {
      peer.sendData(other, i == 63, "x".repeat(1 << 14));
      while (quick.received < (i + 1) << 14) {
        Thread.onSpinWait();
      }
    }
    quick.expect("head 200", "end");
    assertThat(slow.received).isEqualTo(1 << 16);
    rig.run(slow.exchange::resume);
    peer.sendData(stream, true, "");
    slow.expect("head 200", "end");
  }

  // --- cancel ---

  @Test
  void cancelsShareOnePing() throws Exception {
    RecordedExchange[] all = {rig.get("/1"), rig.get("/2"), rig.get("/3")};
    StreamPeer peer = accept();
    peer.acksPings = false;
    for (int i = 0; i < 3; i++) {
      head(peer);
    }
    for (RecordedExchange each : all) {
      rig.run(() -> each.exchange.cancel(UpstreamRig.LONG));
    }
    for (int i = 0; i < 3; i++) {
      assertThat(peer.read(StreamPeer.RST_STREAM).code()).isEqualTo(8);
    }
    rig.get("/full").expect("failed not run: client: all connections in use"); // no slot is free
    assertThat(peer.pings).isEqualTo(1);
    peer.sendInts(StreamPeer.PING, 0, 7, 7); // another PING
    peer.send(StreamPeer.PING, StreamPeer.END_STREAM, 0, new byte[] {0, 0, 0, 0, 0, 0, 0, 1});
    all[0].expect("cancelled true");
    PeerFrame second = peer.read(StreamPeer.PING);
    assertThat(all[1].events).isEmpty();
    peer.send(StreamPeer.PING, StreamPeer.END_STREAM, 0, second.payload());
    all[1].expect("cancelled true");
    all[2].expect("cancelled true");
    answer(peer, rig.get("/"));
  }

  @Test
  void connectionWithAnUnansweredPingIsNotUsed() throws Exception {
    RecordedExchange kept = rig.get("/1");
    RecordedExchange cancelled = rig.get("/2");
    StreamPeer peer = accept();
    peer.acksPings = false;
    int stream = head(peer);
    head(peer);
    rig.run(() -> cancelled.exchange.cancel(UpstreamRig.GRACE));
    cancelled.expect("cancelled false");
    RecordedExchange next = rig.get("/3");
    answer(accept(), next);
    peer.ok(stream);
    kept.expect("head 200", "piece ok", "end");
    assertThat(peer.readEnd()).isIn("end", "reset");
  }

  // --- hostile peers ---

  private enum HostileMove {
    DATA_WITHOUT_HEAD,
    LONG_BODY,
    SHORT_BODY,
    NO_BODY,
    TWO_LENGTHS,
    NO_STATUS,
    STATUS_101,
    CONTROL_CHARACTER,
    PSEUDO_TRAILER,
    MANY_INFORMATIONAL,
    UNKNOWN_STREAM,
    IDLE_STREAM,
    PUSH,
    LARGE_WINDOW,
    ZERO_UPDATE,
    EMPTY_DATA,
    CONTINUATIONS,
    GIGABYTE_OF_HEADERS,
    GARBAGE,
    HALF_A_FRAME
  }

  @ParameterizedTest
  @EnumSource
  void hostilePeerFailsItsExchangeOnly(HostileMove move) throws Exception {
    RecordedExchange made = rig.get("/");
    StreamPeer peer = accept();
    int stream = head(peer);
    try {
      play(move, peer, stream);
    } catch (IOException closed) {
      // by the client
    }
    String result = made.next("head");
    result = result.startsWith("piece") ? made.next("piece") : result;
    assertThat(result).startsWith("failed unknown: ");
    RecordedExchange next = rig.get("/");
    try {
      peer.ok(head(peer)); // the connection may stay
    } catch (IOException closed) {
      answer(accept(), next);
      return;
    }
    next.expect("head 200", "piece ok", "end");
  }

  private static void play(HostileMove move, StreamPeer peer, int stream) throws Exception {
    switch (move) {
      case DATA_WITHOUT_HEAD -> peer.sendData(stream, true, "x");
      case LONG_BODY, SHORT_BODY, NO_BODY -> {
        peer.sendHead(stream, move == HostileMove.NO_BODY, "200", "content-length", "3");
        peer.sendData(stream, true, move == HostileMove.LONG_BODY ? "four" : "2b");
      }
      case TWO_LENGTHS ->
          peer.sendHead(stream, false, "200", "content-length", "1", "content-length", "2");
      case NO_STATUS -> peer.sendHead(stream, true, "a", "b");
      case STATUS_101 -> peer.sendHead(stream, true, "101");
      case CONTROL_CHARACTER -> peer.sendHead(stream, true, "200", "a", "b\r\nc: d");
      case PSEUDO_TRAILER -> {
        peer.sendHead(stream, false, "200");
        peer.sendHead(stream, true, "200", "a", "b");
      }
      case MANY_INFORMATIONAL -> {
        for (int i = 0; i < 100; i++) {
          peer.sendHead(stream, false, "103", "link", "x".repeat(1_000));
        }
      }
      case UNKNOWN_STREAM -> peer.sendHead(stream + 2, true, "200");
      case IDLE_STREAM -> peer.sendHead(2, true, "200");
      case PUSH -> {
        byte[] block = peer.block(":method", "GET", ":path", "/", ":scheme", "http");
        byte[] promise = Arrays.copyOf(new byte[] {0, 0, 0, 2}, 4 + block.length);
        System.arraycopy(block, 0, promise, 4, block.length);
        peer.send(StreamPeer.PUSH_PROMISE, StreamPeer.END_HEADERS, stream, promise);
      }
      case LARGE_WINDOW -> {
        peer.sendInts(StreamPeer.WINDOW_UPDATE, 0, Integer.MAX_VALUE);
        peer.sendInts(StreamPeer.WINDOW_UPDATE, 0, Integer.MAX_VALUE);
      }
      case ZERO_UPDATE -> peer.sendInts(StreamPeer.WINDOW_UPDATE, 0, 0);
      case EMPTY_DATA -> {
        peer.sendHead(stream, false, "200");
        for (int i = 0; i < 100; i++) {
          peer.sendData(stream, false, "");
        }
      }
      case CONTINUATIONS -> {
        peer.send(StreamPeer.HEADERS, 0, stream, peer.block("200"));
        for (int i = 0; i < 100_000; i++) {
          peer.send(StreamPeer.CONTINUATION, 0, stream);
        }
      }
      case GIGABYTE_OF_HEADERS -> {
        peer.send(StreamPeer.HEADERS, 0, stream, peer.block("200"));
        for (int i = 0; i < 65_536; i++) {
          peer.send(StreamPeer.CONTINUATION, 0, stream, new byte[1 << 14]);
        }
      }
      case GARBAGE -> peer.socket.getOutputStream().write(new byte[100]);
      case HALF_A_FRAME -> {
        peer.socket.getOutputStream().write(new byte[] {0, 1, 0, 0, 0});
        peer.socket.close();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"silent", "plain", "closes", "goaway"})
  void peerWithoutSettingsIsNotRun(String manner) throws Exception {
    rig.use(
        rig.target(
            "127.0.0.1",
            null,
            new UpstreamTarget.ExchangeTimeouts(UpstreamRig.GRACE, 0, 0),
            UpstreamRig.ANY));
    RecordedExchange made = rig.get("/");
    RecordedExchange also = rig.get("/");
    StreamPeer peer = new StreamPeer(rig.server.accept());
    switch (manner) {
      case "plain" -> peer.socket.getOutputStream().write("HTTP/1.1 400 X\r\n\r\n".getBytes());
      case "closes" -> peer.socket.close();
      case "goaway" -> peer.sendInts(StreamPeer.GOAWAY, 0, 0, 0);
      default -> {}
    }
    assertThat(made.next()).startsWith("failed not run: connect: ");
    assertThat(also.next()).startsWith("failed not run: connect: ");
  }

  @Test
  void windowOfZeroEndsTheUploadOnly() throws Exception {
    use(UpstreamRig.LONG, UpstreamRig.GRACE, 2);
    RecordedExchange upload = rig.send("POST", "/", 0, "hello");
    StreamPeer peer = new StreamPeer(rig.server.accept());
    peer.settings(StreamPeer.INITIAL_WINDOW_SIZE, 0); // and never acknowledges the client's
    int stream = head(peer);
    RecordedExchange other = rig.get("/");
    answer(peer, other);
    upload.expect("failed unknown: request: not read in time");
    assertThat(peer.read(StreamPeer.RST_STREAM).stream()).isEqualTo(stream);
  }

  @Test
  void floodOfFramesHarmsNothing() throws Exception {
    RecordedExchange made = rig.get("/");
    StreamPeer peer = accept();
    int stream = head(peer);
    for (int i = 0; i < 2_000; i++) {
      peer.settings(StreamPeer.MAX_CONCURRENT_STREAMS, 1 + i % 2);
      peer.sendInts(StreamPeer.PING, 0, i, i);
      peer.sendInts(StreamPeer.RST_STREAM, stream + 0, 7); // only the first one counts
    }
    assertThat(made.next()).startsWith("failed not run: ");
    answer(peer, rig.get("/"));
  }

  // --- TLS ---

  @ParameterizedTest
  @CsvSource({"NEGOTIATED, true", "HTTP_2, true", "HTTP_2, false"})
  void alpnSelectsTheProtocol(HttpVersions versions, boolean offered, @TempDir Path folder)
      throws Exception {
    X509Bundle authority = Certificates.authority();
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(
        Certificates.server(authority, "upstream").toKeyManagerFactory().getKeyManagers(),
        null,
        null);
    Path ca = Certificates.write(folder.resolve("ca.pem"), authority.getCertificatePEM());
    rig.versions = versions;
    rig.use(
        rig.target(
            "127.0.0.1",
            UpstreamTls.read(ca, null, null, "localhost", versions.protocols()),
            UpstreamRig.timeouts(UpstreamRig.LONG, UpstreamRig.LONG),
            UpstreamRig.ANY));
    RecordedExchange made = rig.get("/");
    RecordedExchange also = rig.get("/");
    Socket plain = rig.server.accept();
    SSLSocket tls =
        (SSLSocket) context.getSocketFactory().createSocket(plain, "127.0.0.1", 0, true);
    tls.setUseClientMode(false);
    SSLParameters parameters = tls.getSSLParameters();
    parameters.setApplicationProtocols(offered ? new String[] {"h2"} : new String[0]);
    tls.setSSLParameters(parameters);
    if (!offered) {
      assertThatThrownBy(() -> new StreamPeer(tls)).isInstanceOf(IOException.class);
      made.expect("failed not run: TLS: no h2 by ALPN");
      also.expect("failed not run: TLS: no h2 by ALPN");
      return;
    }
    StreamPeer peer = new StreamPeer(tls).open();
    answer(peer, made);
    answer(peer, also);
    RecordedExchange cancelled = rig.get("/");
    head(peer);
    rig.run(() -> cancelled.exchange.cancel(UpstreamRig.LONG));
    peer.read(StreamPeer.PING);
    cancelled.expect("cancelled true");
    assertThat(peer.readEnd()).isEqualTo("end"); // idle
  }
}

package dev.berth.cluster.link;

import static dev.berth.cluster.link.LinkWorld.await;
import static dev.berth.cluster.link.LinkWorld.on;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.config.ClusterConfig.ClusterRole;
import dev.berth.ingress.Certificates;
import dev.berth.stream.CountingLimit;
import io.netty.handler.ssl.OpenSsl;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Links over real sockets, with and without TLS. */
@Timeout(60)
class LinkIT {
  private static final int MAX_FRAME = 1 << 20;
  private static final long CAP = 64 << 20;

  @TempDir private Path folder;
  private LinkWorld world;
  private ContextInternal here;
  private ContextInternal there;
  private final BlockingQueue<NetSocket> accepted = new LinkedBlockingQueue<>();

  /** One end. */
  private static final class End implements Link.LinkOwner {
    final CountingLimit inFlight;
    final Link link;
    final List<Buffer> frames = new CopyOnWriteArrayList<>();
    final List<Integer> reads = new CopyOnWriteArrayList<>(); // frames of each
    final CompletableFuture<String> ended = new CompletableFuture<>();
    volatile int flushes;

    End(ContextInternal loop, long cap) {
      inFlight = new CountingLimit(cap);
      link = new Link(loop, MAX_FRAME, inFlight, this);
    }

    @Override
    public void onFrames(List<Buffer> read) {
      frames.addAll(read);
      reads.add(read.size());
    }

    @Override
    public void onEnded(String reason) {
      ended.complete(reason);
    }

    @Override
    public void onFlush() {
      flushes++;
    }

    String reason() throws Exception {
      return ended.get(20, TimeUnit.SECONDS);
    }
  }

  @BeforeEach
  void begin() throws Exception {
    world = new LinkWorld(folder);
    here = world.loop();
    there = world.loop();
  }

  @AfterEach
  void close() throws Exception {
    world.close();
  }

  private LinkTls tls(boolean secured, String name) throws Exception {
    return secured ? world.tls(name) : LinkTls.insecure();
  }

  private int listen(LinkTls tls) throws Exception {
    return await(
        new LinkServer(tls, "test")
            .listen(
                List.of(there),
                "127.0.0.1",
                0,
                socket -> {
                  socket.pause();
                  accepted.add(socket);
                }));
  }

  private NetSocket dial(LinkTls tls, int port) throws Exception {
    NetClient dialer = tls.dialer(world.vertx);
    return await(on(here, () -> dialer.connect(port, "127.0.0.1")));
  }

  private NetSocket taken() throws Exception {
    NetSocket socket = accepted.poll(10, TimeUnit.SECONDS);
    assertThat(socket).isNotNull();
    return socket;
  }

  private End attached(ContextInternal loop, NetSocket socket, long cap) throws Exception {
    return on(
        loop,
        () -> {
          End end = new End(loop, cap);
          end.link.attach(socket);
          end.link.open();
          socket.resume();
          return end;
        });
  }

  private boolean write(End from, int bytes, int times) throws Exception {
    return on(
        here,
        () -> {
          boolean all = true;
          for (int i = 0; i < times; i++) {
            byte[] payload = new byte[bytes];
            payload[0] = (byte) i;
            all &= from.link.write(out -> out.appendBytes(payload));
          }
          return all;
        });
  }

  @Test
  void theNativeEngineIsUsedHere() {
    assertThat(OpenSsl.isAvailable()).as("%s", OpenSsl.unavailabilityCause()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void framesArriveInOrderAndThoseOfOneTickAreOneWrite(boolean secured) throws Exception {
    int port = listen(tls(secured, "n2"));
    End from = attached(here, dial(tls(secured, "n1"), port), CAP);
    End to = attached(there, taken(), CAP);

    assertThat(write(from, 100, 50)).isTrue();
    world.eventually(() -> to.frames.size() == 50);
    assertThat(to.frames).extracting(frame -> (int) frame.getByte(0)).isSorted();
    assertThat(from.flushes).isEqualTo(1);
    assertThat(to.reads).hasSize(1);

    assertThat(write(from, MAX_FRAME, 3)).isTrue();
    world.eventually(() -> to.frames.size() == 53);
    world.eventually(() -> from.inFlight.inUse() == 0);
    assertThatThrownBy(() -> write(from, MAX_FRAME + 1, 1)).hasMessageContaining("at most 1048576");
    assertThat(write(from, 1, 1)).as("what was refused left nothing").isTrue();
    world.eventually(() -> to.frames.size() == 54);
  }

  /** Small frames of the link's own pass before it is open, and before what waits. */
  @Test
  void whatWaitsForTheGreetingComesAfterIt() throws Exception {
    int port = listen(LinkTls.insecure());
    NetSocket socket = dial(LinkTls.insecure(), port);
    End to = attached(there, taken(), CAP);
    End from = on(here, () -> new End(here, CAP));
    on(
        here,
        () -> {
          from.link.write(out -> out.appendString("second"));
          from.link.attach(socket);
          from.link.writeFirst(out -> out.appendString("first"));
          return null;
        });
    world.eventually(() -> to.frames.size() == 1);
    on(
        here,
        () -> {
          from.link.open();
          from.link.write(out -> out.appendString("fourth"));
          from.link.writeFirst(out -> out.appendString("third"));
          return null;
        });
    world.eventually(() -> to.frames.size() == 4);
    assertThat(to.frames)
        .extracting(Buffer::toString)
        .containsExactly("first", "third", "second", "fourth");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aPeerThatDoesNotReadIsGoneAtOnceAndIsOwedNothing(boolean secured) throws Exception {
    int port = listen(tls(secured, "n2"));
    End from = attached(here, dial(tls(secured, "n1"), port), CAP);
    NetSocket unread = taken();

    assertThat(write(from, MAX_FRAME, 20)).isTrue();
    assertThat(from.inFlight.inUse()).isGreaterThan(15 << 20); // the kernel took the rest
    Promise<Void> gone = Promise.promise();
    unread.closeHandler(closed -> gone.complete());
    long begun = System.nanoTime();
    end(here, from, "enough");
    assertThat(from.reason()).isEqualTo("enough");
    assertThat(from.inFlight.inUse()).isZero();
    unread.resume(); // reads what is left, and then the end
    await(gone.future());
    long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
    assertThat(took).as("below Netty's wait for what is unsent, 3 s").isLessThan(2_500);
  }

  @Test
  void whatIsUnderWayIsCappedAndRefusedBeyondIt() throws Exception {
    int port = listen(world.tls("n2"));
    End from = attached(here, dial(world.tls("n1"), port), 8 << 20);
    taken();

    byte[] megabyte = new byte[(1 << 20) - FrameDecoder.LENGTH];
    int[] stuck = new int[1]; // looks one after the other at which the kernel had taken nothing
    world.eventually(
        () -> {
          here.runOnContext(
              none ->
                  stuck[0] = from.link.write(out -> out.appendBytes(megabyte)) ? 0 : ++stuck[0]);
          assertThat(from.inFlight.inUse()).isLessThanOrEqualTo(8 << 20);
          return stuck[0] > 40;
        });
    assertThat(from.inFlight.inUse()).isGreaterThan(7 << 20);
    assertThat(from.ended).isNotDone();
    on(
        here,
        () -> {
          for (int i = 0; i < 3_000; i++) {
            from.link.writeFirst(out -> out.appendBytes(new byte[1_000]));
          }
          return null;
        });
    assertThat(from.reason()).isEqualTo("the peer does not read");
    assertThat(from.inFlight.inUse()).isZero();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whoHearsTheLastFrameClosesAndIsClosedWhenHeDoesNot(boolean closes) throws Exception {
    int port = listen(world.tls("n2"));
    End from = attached(here, dial(world.tls("n1"), port), CAP);
    End to = attached(there, taken(), CAP);
    long begun = System.nanoTime();
    finish(here, from);
    world.eventually(() -> to.frames.equals(List.of(Buffer.buffer("bye"))));
    if (closes) {
      end(there, to, "heard");
    }
    assertThat(from.reason()).isEqualTo("idle");
    assertThat(millisSince(begun) < 1_900).isEqualTo(closes);
    assertThat(to.reason()).isEqualTo(closes ? "heard" : "closed by the peer");
    assertThat(write(from, 1, 1)).isFalse();
  }

  private static void finish(ContextInternal loop, End end) throws Exception {
    on(
        loop,
        () -> {
          end.link.finish(out -> out.appendString("bye"), "idle");
          return null;
        });
  }

  private static void end(ContextInternal loop, End end, String reason) throws Exception {
    on(
        loop,
        () -> {
          end.link.end(reason);
          return null;
        });
  }

  @Test
  void aMalformedLengthEndsTheLink() throws Exception {
    int port = listen(LinkTls.insecure());
    NetSocket raw = dial(LinkTls.insecure(), port);
    End to = attached(there, taken(), CAP);
    await(raw.write(Buffer.buffer().appendInt(1).appendByte((byte) 7).appendInt(-1)));
    assertThat(to.reason()).contains("a frame of 4294967295 bytes");
    assertThat(to.frames).containsExactly(Buffer.buffer(new byte[] {7}));
  }

  // --- TLS ---

  @Test
  void theCertificateSaysWhichNodeItIs() throws Exception {
    int port = listen(world.tls("n2", "alias"));
    LinkTls own = world.tls("worker.prod");
    NetSocket dialled = dial(own, port);
    assertThat(own.refusal(dialled, "prod", "n2", ClusterRole.CONTROL)).isNull();
    assertThat(own.refusal(dialled, "prod", "n3", ClusterRole.WORKER))
        .isEqualTo("a certificate of [alias, n2] (expected: of n3 or worker.prod)");
    assertThat(own.refusal(taken(), "prod", "any", ClusterRole.WORKER)).isNull();
    assertThat(dialled.sslSession().getProtocol()).isEqualTo("TLSv1.3");
  }

  /** Nobody who says nothing keeps a node out. */
  @Test
  void ofHandshakesThatAreNotOverTheOldestGivesWay() throws Exception {
    int port = listen(world.tls("n2"));
    dial(world.tls("n1"), port);
    NetSocket before = taken();
    List<Socket> silent = new ArrayList<>();
    try {
      for (int i = 0; i < 256 + 1; i++) {
        silent.add(new Socket(InetAddress.getLoopbackAddress(), port));
      }
      assertThat(silent.get(0).getInputStream().read()).isEqualTo(-1);
      silent.get(256).setSoTimeout(1);
      assertThatThrownBy(() -> silent.get(256).getInputStream().read())
          .isInstanceOf(SocketTimeoutException.class);
      dial(world.tls("n3"), port);
      taken();
    } finally {
      for (Socket each : silent) {
        each.close();
      }
    }
    assertThat(((NetSocketInternal) before).channelHandlerContext().channel().isActive()).isTrue();
  }

  @Test
  void anotherAuthoritysCertificateGetsNoLink() throws Exception {
    int port = listen(world.tls("n2"));
    Path other = world.write(Certificates.authority(), "n1");
    LinkTls wrong =
        await(
            LinkTls.read(
                world.vertx,
                LinkWorld.files(other, LinkWorld.ca(world.write(world.authority(), "trusts")))));
    // With TLS 1.3 a client is through before the server has seen its certificate.
    End from = attached(here, dial(wrong, port), CAP);
    assertThat(from.reason()).isNotBlank();
    assertThat(accepted).isEmpty();
  }

  @Test
  void changedFilesAreForNewLinksAndTheOldOnesStay() throws Exception {
    LinkTls serving = world.tls("n2");
    int port = listen(serving);
    LinkTls dialling = world.tls("n1");
    NetClient dialer = dialling.dialer(world.vertx);
    NetSocket first = await(on(here, () -> dialer.connect(port, "127.0.0.1")));
    End from = attached(here, first, CAP);
    End to = attached(there, taken(), CAP);

    world.write(world.authority(), "n2", "again");
    world.write(world.authority(), "n1", "anew");
    await(serving.reload(world.vertx));
    await(dialling.reload(world.vertx));
    NetSocket second = await(on(here, () -> dialer.connect(port, "127.0.0.1")));
    assertThat(dialling.refusal(second, "c", "x", ClusterRole.WORKER)).contains("[again, n2]");
    assertThat(serving.refusal(taken(), "c", "x", ClusterRole.WORKER)).contains("[anew, n1]");
    assertThat(write(from, 10, 1)).isTrue();
    world.eventually(() -> to.frames.size() == 1);
  }

  @Test
  void whoDoesNotShakeHandsIsLeftAloneAfterTwoSeconds() throws Exception {
    List<Long> tookMillis = new ArrayList<>();
    long begun = System.nanoTime();
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      assertThatThrownBy(() -> dial(world.tls("n1"), silent.getLocalPort()))
          .hasRootCauseMessage("handshake timed out after 2000ms");
      tookMillis.add(millisSince(begun));
    }
    int port = listen(world.tls("n2"));
    begun = System.nanoTime();
    try (Socket silent = new Socket(InetAddress.getLoopbackAddress(), port)) {
      @Nullable Integer end =
          await(world.vertx.executeBlocking(() -> silent.getInputStream().read()));
      assertThat(end).isEqualTo(-1);
      tookMillis.add(millisSince(begun));
    }
    assertThat(tookMillis).allMatch(millis -> 1_900 < millis && millis < 4_000);
  }

  private static long millisSince(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos);
  }
}

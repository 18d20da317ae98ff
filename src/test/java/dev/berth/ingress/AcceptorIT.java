package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.berth.config.HttpOptions;
import dev.berth.config.keys.Settings;
import dev.berth.metrics.Meters;
import io.vertx.core.Context;
import io.vertx.core.Deployable;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.internal.VertxInternal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which event loop gets a new connection. */
class AcceptorIT {
  private static final int LOOPS = 3;

  private Vertx vertx = Vertx.vertx(); // until a test says which
  private final List<FakeUpstream> upstreams = new ArrayList<>();
  private Ingress ingress;

  @AfterEach
  void stop() throws Exception {
    IngressRig.await(vertx.close());
  }

  private void start(IngressTransport transport) throws Exception {
    IngressRig.await(vertx.close());
    vertx = transport.builder().with(new VertxOptions().setEventLoopPoolSize(LOOPS + 1)).build();
    Settings http = IngressRig.LOCAL.with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, Duration.ofSeconds(10));
    ingress = new Ingress(http, new Meters("n", "a", "", false), System::nanoTime, 0xa0);
    for (int i = 0; i < LOOPS; i++) {
      int index = i;
      Deployable loop = context -> loop(index, upstream(context)).deploy(context);
      IngressRig.await(vertx.deployVerticle(loop));
    }
  }

  private FakeUpstream upstream(Context context) {
    FakeUpstream upstream = new FakeUpstream(context);
    upstreams.add(upstream);
    return upstream;
  }

  private void block(int loop, boolean isBlocked) {
    upstreams.get(loop).routers().loopBlocked(0, isBlocked); // each has one
  }

  private IngressVerticle loop(int index, FakeUpstream upstream) {
    return new IngressVerticle(ingress, upstream.loop(), index, Duration.ofSeconds(1));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void connectionsGoToTheLoopsInTurn(boolean preferred) throws Exception {
    start(preferred ? IngressTransport.preferred() : IngressTransport.nio(null));
    assertThat(loopsOf(3 * LOOPS)).containsExactlyInAnyOrder("a0", "a1", "a2");
  }

  @Test
  void aBlockedLoopGetsNoNewConnectionUntilItRunsAgain() throws Exception {
    start(IngressTransport.preferred());
    block(0, true);
    block(1, true);
    assertThat(loopsOf(3 * LOOPS)).containsExactly("a2");
    block(0, false);
    assertThat(loopsOf(3 * LOOPS)).containsExactlyInAnyOrder("a0", "a2");
  }

  @Test
  void whenAllAreBlockedConnectionsAreTakenStill() throws Exception {
    start(IngressTransport.preferred());
    for (int index = 0; index < LOOPS; index++) {
      block(index, true);
    }
    assertThat(loopsOf(LOOPS)).hasSize(LOOPS);
  }

  @Test
  void whoHasConnectedWhenThePortClosesIsServed() throws Exception {
    start(IngressTransport.preferred());
    CountDownLatch stands = new CountDownLatch(1);
    ((VertxInternal) vertx)
        .acceptorEventLoopGroup()
        .execute(
            () -> {
              try {
                assertThat(stands.await(10, TimeUnit.SECONDS)).isTrue();
              } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
              }
            });
    List<RawClient> clients = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      clients.add(new RawClient(ingress.port()).get("/-/nothing"));
    }
    ingress.closePort();
    stands.countDown();
    for (RawClient each : clients) {
      assertThat(each.readHead()).startsWith("HTTP/1.1 404");
      each.close();
    }
  }

  /** Whoever is let in is served: the others are refused, before they have sent anything. */
  @Test
  void nobodyWhoConnectsWhileThePortClosesIsReset() throws Exception {
    IngressTransport transport = IngressTransport.preferred();
    assumeTrue(transport.name().equals("epoll"), "elsewhere a few are reset");
    start(transport);
    int port = ingress.port();
    AtomicInteger served = new AtomicInteger();
    List<CompletableFuture<Void>> clients = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      clients.add(CompletableFuture.runAsync(() -> ask(port, served)));
    }
    while (served.get() < 100) {
      Thread.onSpinWait();
    }
    ingress.closePort();
    for (CompletableFuture<Void> each : clients) {
      each.get(30, TimeUnit.SECONDS);
    }
  }

  /** Until it is refused. */
  private static void ask(int port, AtomicInteger served) {
    for (; ; ) {
      try (RawClient raw = new RawClient(port)) {
        assertThat(raw.get("/-/nothing").readHead()).startsWith("HTTP/1.1 404");
        served.incrementAndGet();
      } catch (ConnectException closed) {
        return;
      } catch (IOException reset) {
        throw new UncheckedIOException(reset);
      }
    }
  }

  @Test
  void anIngressIsNotStartedWithoutItsTransport() {
    Settings http = IngressRig.LOCAL.with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, Duration.ofSeconds(10));
    Ingress alone = new Ingress(http, new Meters("n", "a", "", false), System::nanoTime, 1);
    FakeUpstream upstream = new FakeUpstream(vertx.getOrCreateContext());
    assertThatThrownBy(
            () ->
                IngressRig.await(
                    vertx.deployVerticle(
                        new IngressVerticle(alone, upstream.loop(), 0, Duration.ofSeconds(1)))))
        .hasMessageContaining("IngressTransport");
  }

  /** By the ids that the loops give: each begins with the loop's own number. */
  private Set<String> loopsOf(int connections) throws Exception {
    Set<String> loops = new HashSet<>();
    for (int i = 0; i < connections; i++) {
      try (RawClient raw = new RawClient(ingress.port())) {
        String id =
            List.of(raw.get("/-/nothing").readHead().split("\r\n")).stream()
                .filter(line -> line.startsWith("x-request-id: "))
                .findFirst()
                .orElseThrow();
        loops.add(id.substring("x-request-id: ".length(), id.indexOf('-', 14)));
      }
    }
    return loops;
  }
}

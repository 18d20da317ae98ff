package dev.berth.routing.feed;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.PullRouting;
import dev.berth.protocol.BusMessage.RoutingUpdate;
import dev.berth.protocol.RoutingDelta;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.RoutingSnapshot.SnapshotVersion;
import dev.berth.protocol.port.TickTimer;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.junit5.VertxExtension;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The shell: what it pulls, it pulls on its own loop, for the routers there are. */
@Timeout(20)
@ExtendWith(VertxExtension.class)
class RoutingFeedVerticleTest {
  private Vertx vertx;
  private final RoutingWorld world = new RoutingWorld();
  private final BlockingQueue<BusMessage> pulled = new LinkedBlockingQueue<>();

  @BeforeEach
  void deploy(Vertx made) throws Exception {
    vertx = made;
    vertx.eventBus().registerCodec(new BusMessageCodec());
    TickTimer ticks = new TickTimer(PlaneBuilder.timer(vertx), System::nanoTime);
    vertx
        .deployVerticle(
            new RoutingFeedVerticle(ticks, "n1", 5, world.routers, pulled::add, System::nanoTime))
        .await();
  }

  @Test
  void fromItsStartOnEachRouterHasItsSnapshotPulledAndPassedOn() throws Exception {
    assertThat(pulled.poll(10, TimeUnit.SECONDS))
        .isEqualTo(
            new PullRouting(
                "n1",
                5,
                false,
                List.of(new PullRouting.Held(RoutingWorld.DEPLOYMENT, SnapshotVersion.NONE))));
    RoutingSnapshot snapshot = answer();
    assertThat(world.router.version()).isEqualTo(snapshot.version());
  }

  @Test
  void aRouterThatIsForgottenAndMadeAnewAtOnceHasItsSnapshotPulledAnew() throws Exception {
    BusMessage first = pulled.poll(10, TimeUnit.SECONDS);
    answer();
    world.routers.forget(RoutingWorld.DEPLOYMENT);
    world.routers.router(RoutingWorld.DEPLOYMENT, world.router.settings());
    assertThat(pulled.poll(10, TimeUnit.SECONDS)).isEqualTo(first); // nothing is held
  }

  private RoutingSnapshot answer() {
    RoutingSnapshot snapshot =
        new RoutingSnapshot(RoutingWorld.DEPLOYMENT, new SnapshotVersion(1, 1), false, List.of());
    vertx
        .eventBus()
        .send(
            BusAddresses.routing("n1"),
            new RoutingUpdate(RoutingDelta.whole(snapshot)),
            new DeliveryOptions().setCodecName(BusMessageCodec.NAME).setLocalOnly(true));
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!world.router.version().equals(snapshot.version()) && System.nanoTime() < deadline) {
      Thread.onSpinWait();
    }
    return snapshot;
  }
}

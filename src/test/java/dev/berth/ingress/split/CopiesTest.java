package dev.berth.ingress.split;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.RoutingWorld;
import dev.berth.metrics.Meters;
import dev.berth.metrics.ShadowMeters;
import dev.berth.metrics.ShadowMeters.ShadowEvent;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.RequestOrigin;
import dev.berth.routing.traffic.ShadowRule;
import io.vertx.core.buffer.Buffer;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** A copy of a request at a shadow: what it is counted as, and that its request knows nothing. */
class CopiesTest {
  private static final DeploymentId SHADOW = new DeploymentId("app", "shadow");

  private final RoutingWorld world = new RoutingWorld();
  private final Meters all = new Meters("n", "a", "", false);
  private final ShadowMeters meters = all.addIngressLoop().shadow("/r", SHADOW);
  private final RequestOrigin origin = new RequestOrigin("192.0.2.1", "https", "shop.example");
  private final FakeCaller user =
      new FakeCaller() {
        @Override
        public RequestOrigin origin() {
          return origin;
        }
      };

  private RoutingWorld.Replica shadow(boolean elsewhere) {
    return world.published(elsewhere ? world.remote(SHADOW, "s", 2) : world.local(SHADOW, "s", 2));
  }

  private void copy() {
    Request request = Request.post("/", Buffer.buffer("body"));
    ShadowTarget target =
        new ShadowTarget(
            new ShadowRule(SHADOW, 1, false, 1_000), world.routers.find(SHADOW), meters);
    ShadowCopies.of(List.of(target))
        .make(
            request, user, world.routers.loop(0), new SplittableRandom(1), world.clock.getAsLong());
    world.run();
  }

  private Map<ShadowEvent, Long> counts() {
    Map<ShadowEvent, Long> counts = new EnumMap<>(ShadowEvent.class);
    all.shadow("/r", SHADOW).forEach((event, times) -> counts.merge(event, times, Long::sum));
    counts.values().removeIf(each -> each == 0);
    return counts;
  }

  @Test
  void failingCopyIsCountedOnceAndItsRequestIsToldNothing() {
    for (boolean elsewhere : new boolean[] {false, true}) {
      RoutingWorld.Replica shadow = shadow(elsewhere);
      copy();
      shadow.fail("as it does");
      world.withdraw(shadow);
    }
    assertThat(counts())
        .containsOnly(Map.entry(ShadowEvent.COPIED, 2L), Map.entry(ShadowEvent.FAILED, 2L));
    assertThat(user.told).isEmpty();
    world.assertAllAtRest();
  }

  @Test
  void copyThatAShadowElsewhereRefusesIsSkipped() {
    RoutingWorld.Replica shadow = shadow(true);
    shadow.ledger.tryAcquire();
    shadow.ledger.tryAcquire(); // which its router has not been told
    copy();
    assertThat(counts()).containsOnly(Map.entry(ShadowEvent.SKIPPED_BUSY, 1L));
    assertThat(world.sent(BusMessage.CallRequest.class)).hasSize(1);
    assertThat(user.told).isEmpty();
    shadow.ledger.complete();
    shadow.ledger.complete();
    world.assertAllAtRest();
  }

  /** Its handler ran, and passed on that another deployment was full. */
  @Test
  void copyThatRanAndFailedIsNotSkipped() {
    RoutingWorld.Replica shadow = shadow(true);
    copy();
    BusMessage.CallRequest call = shadow.running.remove(0);
    assertThat(call.origin()).isSameAs(origin);
    shadow.ledger.complete();
    shadow.answer(
        call.source(),
        new BusMessage.CallFailed(
            call.callId(),
            dev.berth.api.BerthException.Kind.BACK_PRESSURE,
            "full",
            503,
            -1,
            shadow.ledger.load(),
            null));
    world.run();
    assertThat(counts())
        .containsOnly(Map.entry(ShadowEvent.COPIED, 1L), Map.entry(ShadowEvent.FAILED, 1L));
    world.assertAllAtRest();
  }
}

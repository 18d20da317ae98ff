package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Time moves by {@code advance} alone. */
class ManualTimeTest {
  @AutoClose private TestBerth berth;
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration NANO = Duration.ofNanos(1);

  @Test
  void aDelayOfAHandlerEndsAtItsMoment() {
    berth = TestBerth.start(Apps.slow(SECOND));
    Future<Response> response = berth.handle("one").call(Request.get("/"));
    berth.run();
    berth.advance(SECOND.minus(NANO));
    assertThat(response.isComplete()).isFalse();
    berth.advance(NANO);
    assertThat(response.succeeded()).isTrue();
    assertThat(berth.elapsed()).isEqualTo(SECOND);
  }

  @Test
  void whatIsReadyRunsBeforeTimePasses() {
    berth = TestBerth.start(Apps.slow(Duration.ofHours(1)));
    Future<Response> response = berth.handle("one").call(Request.get("/"));
    berth.advance(Duration.ofHours(1));
    assertThat(response.succeeded()).isTrue();
  }

  @Test
  void delaysOnTheWayEndInTheirOrderAndMayStartOthers() {
    List<String> ended = new ArrayList<>();
    try (TestBerth berth =
        TestBerth.start(
            Apps.of(
                (request, context) ->
                    context
                        .after(Duration.ofMillis(Long.parseLong(request.path().substring(1))))
                        .compose(
                            none -> {
                              ended.add(request.path());
                              return context.after(Duration.ofMillis(60));
                            })
                        .map(
                            none -> {
                              ended.add(request.path() + " again");
                              return Response.text("");
                            })))) {
      DeploymentHandle one = berth.handle("one");
      one.call(Request.get("/90"));
      one.call(Request.get("/10"));
      berth.advance(Duration.ofMillis(150));
    }
    assertThat(ended).containsExactly("/10", "/10 again", "/90", "/90 again");
  }

  @Test
  void aDeadlinePassesExactly() {
    Duration timeout = Duration.ofMillis(1_010); // between two ticks
    AtomicReference<Boolean> cancelled = new AtomicReference<>(false);
    berth =
        TestBerth.start(
            Apps.of(
                (request, context) -> {
                  context.onCancel(() -> cancelled.set(true));
                  return context.after(Duration.ofHours(1)).map(none -> Response.text(""));
                }));
    berth.advance(Duration.ofMillis(7));
    Future<Response> response = berth.handle("one").withTimeout(timeout).call(Request.get("/"));
    berth.run();
    berth.advance(timeout.minus(NANO));
    assertThat(response.isComplete()).isFalse();
    berth.advance(NANO);
    assertThat(response.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(cancelled).hasValue(true);
  }

  @Test
  void aWaitInTheQueueEndsByItsTimeout() {
    Apps.Gate gate = new Apps.Gate();
    berth =
        TestBerth.of(Apps.of(gate))
            .set("one", "max_ongoing_requests", 1)
            .set("one", "berth.queue_timeout_s", 2)
            .start();
    Future<Response> runs = berth.handle("one").call(Request.get("/"));
    Future<Response> waits = berth.handle("one").call(Request.get("/"));
    berth.advance(Duration.ofSeconds(2).minus(NANO));
    assertThat(waits.isComplete()).isFalse();
    berth.advance(NANO);
    assertThat(waits.cause()).isInstanceOf(BerthException.BackPressure.class);
    gate.open();
    berth.await(runs);
  }

  @Test
  void aLeaseRunsOutAndItsSlotIsFree() {
    berth = TestBerth.of(Apps.echo()).set("one", "berth.reservation_ttl_s", 3).start();
    ReplicaSelection selection = berth.await(berth.handle("one").choose());
    assertThat(selection.leaseRemaining()).isEqualTo(Duration.ofSeconds(3));
    berth.advance(Duration.ofSeconds(3).minus(NANO));
    assertThat(berth.ledger("one").reserved()).isEqualTo(1);
    berth.advance(NANO);
    assertThat(berth.ledger("one").reserved()).isZero();
    assertThat(berth.ledger("one").expired()).isEqualTo(1);
    assertThat(berth.awaitFailure(selection.dispatch(Request.get("/"))))
        .isInstanceOf(BerthException.ReservationExpired.class);
  }

  @Test
  void aCancelledHandlerThatDoesNotSettleIsAZombieAfterItsGrace() {
    Apps.Gate gate = new Apps.Gate();
    berth = TestBerth.of(Apps.of(gate)).set("one", "berth.cancel_grace_s", 4).start();
    Pending<Response> call = berth.handle("one").start(Request.get("/"));
    berth.run();
    call.cancel();
    assertThat(berth.awaitFailure(call.future())).isInstanceOf(BerthException.Cancelled.class);
    berth.advance(Duration.ofSeconds(4));
    assertThat(berth.replicas("one").get(0).zombies()).isEqualTo(1);
    assertThat(berth.ledger("one").running()).isEqualTo(1);
    gate.open();
    berth.run();
    assertThat(berth.replicas("one").get(0).zombies()).isZero();
  }

  @Test
  void timeDoesNotGoBack() {
    berth = TestBerth.start(Apps.echo());
    assertThatThrownBy(() -> berth.advance(NANO.negated()))
        .hasMessage("by: PT-0.000000001S (expected: >= 0)");
    berth.advance(Duration.ZERO);
    assertThat(berth.elapsed()).isZero();
  }
}

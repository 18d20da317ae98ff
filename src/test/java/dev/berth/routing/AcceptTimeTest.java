package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.Admission;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import io.vertx.core.Future;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** How long a replica elsewhere may take up what is sent to it, and what comes of TOO_LATE. */
class AcceptTimeTest {
  private static final Request REQUEST = Request.get("/");
  private static final long LINK_TIMEOUT_MICROS = 3_000_000;

  private final RoutingWorld world = new RoutingWorld();

  private <T extends BusMessage> T last(Class<T> type) {
    return world.sent(type).get(world.sent(type).size() - 1);
  }

  private Future<Response> call() {
    return world.settled(world.handle().call(REQUEST));
  }

  /** The replica finds that what came last is too late. */
  private void tooLate(RoutingWorld.Replica replica) {
    BusMessage.CallRequest late = last(BusMessage.CallRequest.class);
    replica.answer(
        late.source(),
        new BusMessage.CallRefused(late.callId(), Refusal.TOO_LATE, replica.ledger.load()));
    world.run();
  }

  @Test
  void withinAnInstanceThereIsNoLimit() {
    world.published(world.local("near", 1));
    call();
    assertThat(last(BusMessage.CallRequest.class).acceptMicros()).isEqualTo(BusMessage.NO_LIMIT);
  }

  @Test
  void aCallWithoutADeadlineIsToBeTakenUpWithinTheLinksTimeout() {
    world.published(world.remote("far", 1));
    call();
    assertThat(last(BusMessage.CallRequest.class).acceptMicros()).isEqualTo(LINK_TIMEOUT_MICROS);
  }

  @Test
  void whatHasLessTimeThanThatIsToBeTakenUpByItsDeadline() {
    world.published(world.remote("far", 2));
    world.settled(world.handle().withTimeout(Duration.ofMillis(200)).call(REQUEST));
    assertThat(last(BusMessage.CallRequest.class).acceptMicros()).isEqualTo(200_000);
    world.settled(world.handle().withTimeout(Duration.ofMillis(300)).choose());
    assertThat(last(BusMessage.ReserveSlot.class).acceptMicros()).isEqualTo(300_000);
  }

  @Test
  void whatIsSentUnderATokenHasALimitToo() {
    world.published(world.remote("far", 1));
    ReplicaSelection selection = world.chosen(world.handle());
    world.settled(selection.renew());
    assertThat(last(BusMessage.RenewLease.class).acceptMicros()).isEqualTo(LINK_TIMEOUT_MICROS);
    world.settled(selection.dispatch(REQUEST));
    assertThat(last(BusMessage.CallRequest.class).acceptMicros()).isEqualTo(LINK_TIMEOUT_MICROS);
  }

  @Test
  void aCallThatCameTooLateIsTriedElsewhere() {
    RoutingWorld.Replica far = world.published(world.remote("far", 1));
    far.silent = true;
    Future<Response> response = call();
    RoutingWorld.Replica near = world.published(world.local("near", 1));
    tooLate(far);
    near.finish();
    assertThat(response.succeeded()).isTrue();
    assertThat(near.executions).isOne();
    world.assertAtRest(far, near);
  }

  @Test
  void aDispatchThatCameTooLateReleasesItsLease() {
    RoutingWorld.Replica far = world.published(world.remote("far", 1));
    ReplicaSelection selection = world.chosen(world.handle());
    far.silent = true;
    Future<Response> response = world.settled(selection.dispatch(REQUEST));
    far.silent = false;
    tooLate(far);
    assertThat(response.cause()).isInstanceOf(BerthException.ReplicaUnavailable.class);
    world.assertAtRest(far);
  }

  @Test
  void anOfferThatComesTooLateIsReleasedAndNotUsed() {
    RoutingWorld.Replica far = world.remote("far", 1).filled();
    world.publish();
    call();
    far.ledger.complete();
    BusMessage.SlotOffer offer = far.offered(7, Duration.ofMillis(250));
    far.answer(
        last(BusMessage.CallRequest.class).source(),
        new BusMessage.SlotOffer(
            offer.target(), offer.attempt(), offer.tokens(), 0, offer.load(), 1));
    world.run();
    assertThat(last(BusMessage.ReleaseSlot.class).attempt()).isEqualTo(offer.attempt());
    assertThat(world.sent(BusMessage.CallRequest.class))
        .extracting(BusMessage.CallRequest::admission)
        .containsOnly(Admission.IfFree.IF_FREE);
  }

  /** The lease of an offer is short, but a slot that stands idle is a slot less. */
  @Test
  void anOfferWhoseRenewalCameTooLateIsReleased() {
    RoutingWorld.Replica far = world.remote("far", 1).filled();
    world.publish();
    Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
    far.ledger.complete();
    far.silent = true;
    BusMessage.SlotOffer offer = far.offered(7, Duration.ofMillis(250));
    far.answer(last(BusMessage.ReserveSlot.class).source(), offer);
    world.run();
    far.silent = false;
    BusMessage.RenewLease renewal = last(BusMessage.RenewLease.class);
    far.answer(
        renewal.source(),
        new BusMessage.CallRefused(renewal.callId(), Refusal.TOO_LATE, far.ledger.load()));
    world.run();
    assertThat(world.sent(BusMessage.ReleaseSlot.class))
        .extracting(BusMessage.ReleaseSlot::attempt)
        .contains(offer.attempt());
    assertThat(chosen.succeeded()).as("by a reserve of its own").isTrue();
  }
}

package dev.berth.routing;

import static dev.berth.fakes.Explained.step;
import static dev.berth.fakes.Explained.story;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.api.spi.ReplicaRanker.Tier;
import dev.berth.fakes.Explained;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.HandlerTime.BatchPlace;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.Candidate;
import dev.berth.view.RequestExplanation.QueueWait;
import dev.berth.view.RequestExplanation.RequestPhaseTimes;
import dev.berth.view.RequestExplanation.RequestStep;
import dev.berth.view.RequestExplanation.RequestStep.RequestStepKind;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The record of a request that came by HTTP, from its arrival to its answer, on every path. */
class ExplainedRequestTest {
  private static final long MS = 1_000_000;

  private final RoutingWorld world = new RoutingWorld();

  /** As the ingress does: starts the recorder, and ends it when the answer is handed on. */
  private final class Client extends FakeCaller {
    final RequestRecorder recorder;
    final RoutedCall call;

    Client(long timeoutNanos) {
      super("id", world.clock.getAsLong(), deadline(timeoutNanos));
      RouterLoop loop = world.routers.loop(0);
      long now = loop.now();
      recorder = world.router.explained(loop, "id", "GET /echo", now);
      call = RoutedCall.start(world.router, loop, Request.get("/echo"), this, now);
    }

    Client() {
      this(SlotRequest.NO_DEADLINE);
    }

    @Override
    public RequestRecorder explaining() {
      return recorder;
    }

    @Override
    protected void ended() {
      if (response == null) {
        recorder.end(503);
      } else if (response.body() instanceof Response.Body.Received streamed) {
        streamed.stream().handler(piece -> {}).endHandler(end -> recorder.end(200));
        streamed.stream().exceptionHandler(failed -> recorder.end(200)).resume();
      } else {
        recorder.end(response.status());
      }
    }
  }

  private long deadline(long timeoutNanos) {
    return timeoutNanos == SlotRequest.NO_DEADLINE
        ? timeoutNanos
        : world.clock.getAsLong() + timeoutNanos;
  }

  private void pass(long nanos) {
    world.clock.advanceNanos(nanos);
  }

  /** Its request is at a replica, and has been for so long. */
  private Client sent(long nanos) {
    Client client = new Client();
    world.run();
    pass(nanos);
    return client;
  }

  private RequestExplanation only() {
    assertThat(world.explained).hasSize(1);
    assertAddsUp(world.explained.get(0));
    return world.explained.get(0);
  }

  private static void assertAddsUp(RequestExplanation record) {
    RequestPhaseTimes p = record.phases();
    assertThat(List.of(p.receive(), p.queue(), p.route(), p.held(), p.bus(), p.handler()))
        .as("%s", p)
        .allMatch(each -> each >= 0);
    assertThat(Explained.sum(p)).as("%s", p).isEqualTo(p.total());
  }

  @Test
  void aRequestThatNeverWaitedIsExplained() {
    RoutingWorld.Replica replica = world.published(world.local("a", 2));
    new Client();
    pass(3 * MS);
    world.run();
    pass(10 * MS);
    world.handlerTime = new HandlerTime(0, 9 * MS, RequestFailure.NONE);
    replica.respond();
    pass(2 * MS);
    world.run();

    RequestExplanation record = only();
    assertThat(record.requestId()).isEqualTo("id");
    assertThat(record.parent()).isNull();
    assertThat(record.deployment()).isEqualTo(RoutingWorld.DEPLOYMENT);
    assertThat(record.request()).isEqualTo("GET /echo");
    assertThat(record.status()).isEqualTo(200);
    assertThat(record.outcome()).isEqualTo("ok");
    assertThat(record.node()).isEqualTo("here");
    assertThat(record.replicaId()).isEqualTo("a");
    assertThat(record.snapshot()).isEqualTo(new RoutingSnapshot.SnapshotVersion(1, 1));
    assertThat(record.policy()).isEqualTo("power_of_two_choices");
    assertThat(record.candidates())
        .containsExactly(new Candidate("a", "here", 0, 0, 2, true, 0, Tier.SAME_LOOP, 0, 0));
    assertThat(record.queue()).isNull();
    assertThat(story(record))
        .isEqualTo("ARRIVED SENT HANDLER_STARTED HANDLER_SETTLED ANSWERED ENDED");
    assertThat(record.phases())
        .isEqualTo(new RequestPhaseTimes(0, 0, 0, 0, 6 * MS, 9 * MS, 0, 0, 15 * MS));
    assertThat(record.phases().overhead()).isEqualTo(6 * MS);
    assertThat(record.steps().get(2).atNanos()).isEqualTo(3 * MS);
    assertThat(record.steps().get(3).atNanos()).isEqualTo(12 * MS);
  }

  @Test
  void aRequestThatWaitedTellsHowManyWereAhead() {
    world.router.configure(RoutingProbe.withMaxQueued(world.router.settings(), 5));
    RoutingWorld.Replica replica = world.published(world.local("a", 1));
    callUnexplained();
    callUnexplained();
    world.run();
    new Client();
    pass(4 * MS);
    replica.finish();
    pass(5 * MS);
    replica.finish();
    assertThat(replica.running)
        .singleElement()
        .returns(9_000L, BusMessage.CallRequest::waitedMicros);
    pass(MS);
    replica.finish();

    RequestExplanation record = only();
    assertThat(record.queue()).isEqualTo(new QueueWait(1, 5, 9 * MS));
    assertThat(record.phases().queue()).isEqualTo(9 * MS);
    assertThat(record.candidates()).singleElement().returns(-1, Candidate::rank);
    assertThat(story(record)).startsWith("ARRIVED QUEUED GRANTED SENT");
  }

  @Test
  void aRefusalAndTheNextAttemptAreTold() {
    RoutingWorld.Replica full = world.published(world.remote("full", 1));
    new Client();
    full.ledger.tryAcquire(); // by someone else, before the request is there
    pass(MS);
    world.run();
    RoutingWorld.Replica other = world.published(world.remote("other", 1));
    world.run();
    pass(MS);
    world.handlerTime = new HandlerTime(0, MS, RequestFailure.NONE);
    other.finish();

    RequestExplanation record = only();
    assertThat(record.replicaId()).isEqualTo("other");
    assertThat(story(record))
        .matches(".*SENT .*REFUSED .*QUEUED .*GRANTED .*SENT .*ACCEPTED .*ANSWERED .*ENDED");
    assertThat(step(record, RequestStepKind.REFUSED))
        .returns("full", RequestStep::replicaId)
        .returns("there", RequestStep::node)
        .returns("FULL", RequestStep::detail);
    assertThat(record.candidates())
        .singleElement()
        .returns(false, Candidate::exact)
        .returns(-1L, Candidate::ageNanos)
        .returns(Tier.ANY, Candidate::tier);
  }

  @Test
  void aRequestWithoutAnAnswerInTimeWasWithItsHandler() {
    world.published(world.local("a", 1));
    new Client(50 * MS);
    world.run();
    world.pass(Duration.ofMillis(100));

    RequestExplanation record = only();
    assertThat(record.outcome()).isEqualTo("timeout");
    assertThat(record.phases().handler()).isPositive();
    assertThat(record.phases().overhead()).isZero();
    assertThat(record.replicaId()).isEqualTo("a");
  }

  @Test
  void aRequestThatWaitedStillHasItsDeadline() {
    RoutingWorld.Replica replica = world.published(world.local("a", 1));
    callUnexplained();
    world.run();
    new Client(50 * MS);
    replica.finish();
    world.pass(Duration.ofMillis(100));
    assertThat(only().outcome()).isEqualTo("timeout");
    assertThat(only().replicaId()).isEqualTo("a");
  }

  @Test
  void aRequestRefusedAtOnceIsExplained() {
    world.router.configure(RoutingProbe.withMaxQueued(world.router.settings(), 1));
    world.publish();
    callUnexplained();
    new Client();

    RequestExplanation record = only();
    assertThat(record.outcome()).isEqualTo("back_pressure");
    assertThat(record.queue()).isNull();
    assertThat(record.replicaId()).isEmpty();
  }

  @Test
  void aFailedHandlersTimeIsTold() {
    RoutingWorld.Replica replica = world.published(world.remote("a", 1));
    sent(3 * MS);
    world.handlerTime = new HandlerTime(0, 2 * MS, RequestFailure.NONE);
    replica.fail("no");

    RequestExplanation record = only();
    assertThat(record.outcome()).isEqualTo("handler_failed");
    assertThat(record.phases().handler()).isEqualTo(2 * MS);
    assertThat(record.phases().bus()).isEqualTo(MS);
    assertThat(record.replicaId()).isEqualTo("a");
  }

  @Test
  void itsOverheadSoFarIsAllButWhatItsHandlerTakes() {
    world.published(world.remote("a", 1));
    RequestRecorder recorder = new Client().recorder;
    pass(MS);
    assertThat(recorder.overheadMicros()).as("on its way").isEqualTo(1_000);
    assertThat(recorder.replicaId()).isEqualTo("a");
    world.run();
    pass(2 * MS);
    assertThat(recorder.overheadMicros()).as("accepted").isEqualTo(1_000);
  }

  @Test
  void aStreamedAnswerIsAPhaseOfItsOwn() {
    RoutingWorld.Replica replica = world.published(world.local("a", 1));
    Client client = sent(2 * MS);
    world.handlerTime = new HandlerTime(0, 2 * MS, RequestFailure.NONE);
    BusMessage.CallRequest call = world.settled(replica.beginStream());
    pass(30 * MS);
    assertThat(client.recorder.overheadMicros()).isZero();
    replica.endStream(call);
    world.run();

    RequestExplanation record = only();
    assertThat(record.phases())
        .isEqualTo(new RequestPhaseTimes(0, 0, 0, 0, 0, 2 * MS, 30 * MS, 0, 32 * MS));
    assertThat(record.phases().overhead()).isZero();
  }

  @Test
  void aClientThatLeavesEndsItsRecordOnce() {
    RoutingWorld.Replica replica = world.published(world.local("a", 1));
    Client client = sent(MS);
    client.recorder.outcome("client_gone");
    client.recorder.end(499);
    world.run(client.call::cancel);

    RequestExplanation record = only();
    assertThat(record.status()).isEqualTo(499);
    assertThat(record.outcome()).isEqualTo("client_gone");
    assertThat(story(record)).endsWith("ENDED");
    assertThat(record.phases().handler()).isEqualTo(MS);
    assertThat(replica.cancelled).hasSize(1);
  }

  @Test
  void anotherNodesClockIsBelievedNoFurtherThanTheRoundTripWasLong() {
    RoutingWorld.Replica replica = world.published(world.remote("a", 1));
    sent(2 * MS);
    world.handlerTime = new HandlerTime(-5, Long.MAX_VALUE, RequestFailure.NONE);
    replica.finish();

    assertThat(only().phases().handler()).isEqualTo(2 * MS);
  }

  @Test
  void aBatchIsRecordedWithItsWaitInTheQueueAndAtTheReplica() {
    RoutingWorld.Replica replica = world.published(world.remote("a", 1));
    sent(8 * MS);
    world.handlerTime =
        new HandlerTime(0, MS, RequestFailure.NONE, new BatchPlace(7, 16, 3, 5 * MS));
    replica.finish();

    assertThat(only().batch()).isEqualTo(new BatchPlace(7, 16, 3, 5 * MS));
    assertThat(only().phases())
        .isEqualTo(new RequestPhaseTimes(0, 5 * MS, 0, 0, 2 * MS, MS, 0, 0, 8 * MS));
  }

  @Test
  void aBatchWaitOfAnotherNodeIsAtMostTheRoundTrip() {
    RoutingWorld.Replica replica = world.published(world.remote("a", 1));
    sent(2 * MS);
    world.handlerTime =
        new HandlerTime(0, MS, RequestFailure.NONE, new BatchPlace(-1, -1, -1, Long.MAX_VALUE));
    replica.finish();

    assertThat(only().phases().queue()).isEqualTo(2 * MS);
  }

  @Test
  void ofABodyThatCameWithItsRequestNothingIsReceivedLater() {
    RoutingWorld.Replica replica = world.published(world.local("a", 1));
    sent(2 * MS);
    world.handlerTime = new HandlerTime(MS, MS, RequestFailure.NONE);
    replica.finish();

    assertThat(only().phases()).isEqualTo(new RequestPhaseTimes(0, 0, 0, 0, MS, MS, 0, 0, 2 * MS));
  }

  @Test
  void aReservationIsConsumedHereAtOnceAndElsewhereByWhatIsSent() {
    for (RoutingWorld.Replica each : List.of(world.local("a", 1), world.remote("b", 1))) {
      world.publish();
      RequestRecorder recorder =
          world.router.explained(world.routers.loop(0), "id", "GET /echo", world.clock.getAsLong());
      recorder.recordReservation(world.router.routable().get(0), MS);
      recorder.end(200);
      world.remove(each);
    }
    assertThat(story(world.explained.get(0))).contains("LEASE_GRANTED", "LEASE_CONSUMED");
    assertThat(story(world.explained.get(1))).isEqualTo("ARRIVED LEASE_GRANTED ENDED");
  }

  @Test
  void whoIsNotExplainedIsNotWrittenDownAndAsksTheReplicaForNothing() {
    RoutingWorld.Replica replica = world.published(world.local("a", 1));
    callUnexplained();
    world.run();
    assertThat(replica.running.get(0).explained()).isFalse();
    replica.finish();
    assertThat(world.explained).isEmpty();
  }

  private void callUnexplained() {
    RoutedCall.start(world.router, world.routers.loop(0), Request.get("/"), new FakeCaller(), 0);
  }
}

package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.AWAY;
import static dev.berth.replica.ReplicaRig.OWN;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncBatchHandler;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BatchHandler;
import dev.berth.api.BatchItem;
import dev.berth.api.BatchResult;
import dev.berth.api.BerthException.Kind;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.protocol.Admission;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.replica.batch.BatchProbe;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Batches of a replica, from the arrival of their requests to the end of each. Source: Ray Serve's
 * tests of {@code @serve.batch}, named where a test is one of them.
 */
class BatchingTest extends BatchingRig {
  // --- the window: test_batch_size_one_long_timeout, test_batch_size_multiple_zero_timeout,
  // test_batch_size_multiple_long_timeout, test_batch_timeout_empty_queue ---

  @Test
  void aBatchOfOneStartsWithoutAWait() {
    start(rules(1, 1_000, 8), atOnce);

    send("a", "b");

    assertThat(batches).containsExactly(List.of("a"), List.of("b"));
  }

  @Test
  void aZeroWaitStartsEachRequestWhileAPlaceIsFree() {
    start(rules(5, 0, 1), later);

    send("a", "b", "c");
    finishOldest();

    assertThat(batches).containsExactly(List.of("a"), List.of("b", "c"));
  }

  @Test
  void aFullBatchStartsBeforeItsWindowIsOver() {
    start(rules(2, 1_000, 1), atOnce);

    send("a");
    assertThat(batches).isEmpty();
    send("b");

    assertThat(batches).containsExactly(List.of("a", "b"));
  }

  @Test
  void aWindowIsTheAgeOfItsOldestRequest() {
    start(RAYS, atOnce);

    send("a");
    pass(6);
    send("b");
    pass(3);
    assertThat(batches).isEmpty();
    pass(1);

    assertThat(batches).containsExactly(List.of("a", "b"));
    pass(60);
    assertThat(batches).hasSize(1);
  }

  @Test
  void theTimeInTheRoutersQueueBelongsToTheWindow() {
    start(RAYS, atOnce);
    ReplicaRig.Call waited = call("a");
    waited.waitedMicros = 8_000;

    send(waited);
    pass(1);
    assertThat(batches).isEmpty();
    pass(1);

    assertThat(batches).containsExactly(List.of("a"));
  }

  @Test
  void aWindowClosesEarlyForADeadline() {
    start(rules(10, 1_000, 1), later);
    send("first");
    pass(1_000);
    pass(100); // the usual time of a batch
    finishOldest();
    assertThat(seats().learntNanos()).isEqualTo(Duration.ofMillis(100).toNanos());

    ReplicaRig.Call urgent = call("urgent").deadlineMs(300);
    send(urgent);
    pass(199);
    assertThat(batches).hasSize(1);
    pass(1);

    assertThat(batches).hasSize(2);
  }

  @Test
  void anEagerReplicaStartsAtOnceAndFillsWhileItRuns() {
    start(
        new BatchSettings(
            4, 1_000_000_000, 1, true, Integer.MAX_VALUE, Long.MAX_VALUE, List.of(), List.of()),
        later);

    send("a", "b", "c");
    finishOldest();

    assertThat(batches).containsExactly(List.of("a"), List.of("b", "c"));
  }

  // --- requests that other instances send one by one ---

  private void sendWaited(String... bodies) {
    for (String body : bodies) {
      ReplicaRig.Call waited = call(body);
      waited.waitedMicros = 20_000;
      send(waited);
    }
  }

  @Test
  void requestsThatTakeTheSlotsOfAnEndedBatchShareTheNextOne() {
    start(rules(4, 10, 1), later);
    send("a", "b", "c", "d");
    finishOldest();

    sendWaited("e", "f", "g");
    assertThat(batches).hasSize(1);
    sendWaited("h");

    assertThat(batches).containsExactly(List.of("a", "b", "c", "d"), List.of("e", "f", "g", "h"));
  }

  @Test
  void refillOfABatchIsShort() {
    start(rules(4, 10, 1), later);
    send("a", "b", "c", "d");
    sendWaited("e");
    finishOldest();
    assertThat(batches).hasSize(1);

    pass(2);

    assertThat(batches).containsExactly(List.of("a", "b", "c", "d"), List.of("e"));
  }

  @Test
  void smallBatchWaitsForNoRefill() {
    start(rules(4, 10, 1), later);
    sendWaited("a");
    sendWaited("b", "c");
    finishOldest();

    assertThat(batches).containsExactly(List.of("a"), List.of("b", "c"));
  }

  @Test
  void aLooseRequestAtAFreePlaceLetsTheRouterLookForABatch() {
    start(rules(4, 10, 1), later);
    int before = pumps;

    send("a");

    assertThat(pumps).isGreaterThan(before);
    pass(10);
  }

  // --- bounds ---

  @Test
  void noBatchExceedsTheConcurrentOnes() { // test_max_concurrent_batches
    start(rules(1, 0, 2), later);

    send("a", "b", "c");
    assertThat(batches).hasSize(2);
    finishOldest();

    assertThat(batches).hasSize(3);
  }

  @Test
  void itemsAndBytesBoundABatchAndKeepTheOrder() { // test_batch_size_fn
    BatchSettings weighed = new BatchSettings(10, 10_000_000, 1, false, 6, 8, List.of(), List.of());
    start(weighed, sized());

    send("aaa", "bb", "cc", "d"); // 3 + 2 items, then 2 more are too many
    rig.runAll();

    assertThat(batches).containsExactly(List.of("aaa", "bb"));
    pass(10);
    assertThat(batches).containsExactly(List.of("aaa", "bb"), List.of("cc", "d"));
  }

  @Test
  void aRequestBeyondTheBoundOfABatchWithAnotherKeyStartsLater() { // `same` has changed
    start(new BatchSettings(10, 10_000_000, 1, false, 1, 8, List.of(), List.of()), atOnce);
    BatchGroup group = java.util.Objects.requireNonNull(BatchProbe.open(seats(), "former", 0));
    List<Admission> given = List.of(group.seat(), group.seat());
    group.seal();

    send(call("a").by(given.get(0)));
    send(call("b").by(given.get(1)));
    pass(10);

    assertThat(batches).containsExactly(List.of("a"), List.of("b"));
  }

  private BatchHandler sized() {
    return new BatchHandler() {
      @Override
      public List<BatchResult> handle(List<BatchItem> items) throws Exception {
        return atOnce.handle(items);
      }

      @Override
      public int itemSize(Request request) {
        if (request.bytes().toString().equals("bad")) {
          throw new IllegalStateException("bad");
        }
        return request.bytes().length();
      }
    };
  }

  @Test
  void aRequestBeyondABoundAloneGets413() {
    start(new BatchSettings(10, 0, 1, false, 4, 8, List.of(), List.of()), sized());

    long many = send("12345");
    long bad = send("bad");

    assertThat(outcomes())
        .containsOnly(Map.entry(many, Kind.PAYLOAD_TOO_LARGE), Map.entry(bad, Kind.HANDLER_FAILED));
    assertThat(batches).isEmpty();
  }

  @Test
  void aLoweredBoundRunsALargerRequestAlone() {
    start(new BatchSettings(10, 10_000_000, 1, false, 9, 99, List.of(), List.of()), sized());
    send("1234", "12345678");
    batches.clear();

    change(new BatchSettings(10, 10_000_000, 1, false, 4, 99, List.of(), List.of()));
    pass(10);

    assertThat(batches).containsExactly(List.of("12345678"));
  }

  @Test
  void preferredSizesCutABatchWhoseWindowIsOver() {
    start(
        new BatchSettings(
            10, 10_000_000, 1, false, Integer.MAX_VALUE, Long.MAX_VALUE, List.of(8, 4), List.of()),
        atOnce);

    send("a", "b", "c", "d", "e", "f");
    pass(10);

    assertThat(batches).containsExactly(List.of("a", "b", "c", "d"), List.of("e", "f"));
  }

  @Test
  void onlyRequestsWithTheSameHeadersShareABatch() { // Ray's split by model id
    start(
        new BatchSettings(10, 10_000_000, 2, false, 99, 999, List.of(), List.of("x-model")), later);

    send(call("a1").header("x-model", "a"));
    send(call("b1").header("x-model", "b"));
    send(call("a2").header("x-model", "a"));
    send("none");
    pass(10);

    assertThat(batches).containsExactly(List.of("a1", "a2"), List.of("b1"));
    finishOldest();
    assertThat(batches).last().isEqualTo(List.of("none"));
  }

  // --- results: test_batch_exception, test_batch_size_mismatch, test_batch_generator_* ---

  @Test
  void eachRequestGetsItsOwnResult() {
    start(rules(3, 10, 1), atOnce);
    answers =
        items ->
            List.of(
                BatchResult.of(Response.text("one")),
                BatchResult.ofFailure(new IllegalStateException("two")),
                BatchResult.of(Response.text("three")));

    long one = send("a");
    long two = send("b");
    long three = send("c");

    assertThat(outcomes())
        .containsOnly(
            Map.entry(one, "one"), Map.entry(two, Kind.HANDLER_FAILED), Map.entry(three, "three"));
  }

  @Test
  void aWrongNumberOfResultsFailsAllInRaysWords() {
    start(rules(3, 10, 1), atOnce);
    answers = items -> echo(items.subList(0, 2));

    send("a", "b", "c");

    List<BusMessage> sent = rig.bus.take();
    assertThat(sent).hasSize(3);
    assertThat(sent)
        .allSatisfy(
            each ->
                assertThat(((CallFailed) each).message())
                    .isEqualTo(
                        "Batched function doesn't preserve batch size. The input list has length"
                            + " 3 but the returned list has length 2."));
  }

  @ParameterizedTest
  @ValueSource(strings = {"null", "throws", "null future", "null result"})
  void aBrokenHandlerFailsItsBatchAndFreesItsPlace(String how) {
    AsyncBatchHandler asynchronous = items -> null;
    start(rules(2, 10, 1), how.equals("null future") ? asynchronous : atOnce);
    answers =
        items -> {
          if (how.equals("throws")) {
            throw new IllegalStateException("secret");
          }
          return how.equals("null") ? null : java.util.Arrays.asList(new BatchResult[2]);
        };

    long one = send("a");
    long two = send("b");

    assertThat(outcomes())
        .containsOnly(Map.entry(one, Kind.HANDLER_FAILED), Map.entry(two, Kind.HANDLER_FAILED));
    answers = BatchingRig::echo;
  }

  @Test
  void eachRequestMayStream() { // test_batch_generator_basic
    start(rules(2, 10, 1), atOnce);
    List<Promise<Void>> ends = List.of(Promise.promise(), Promise.promise());
    ArrayDeque<Promise<Void>> next = new ArrayDeque<>(ends);
    answers =
        items ->
            items.stream()
                .map(
                    each ->
                        BatchResult.of(
                            Response.stream(
                                "text/plain",
                                out -> {
                                  out.write(each.request().bytes());
                                  return next.remove().future();
                                })))
                .toList();

    send("a", "b");
    ends.get(0).complete();
    rig.runAll();
    assertThat(replica.slots().ongoing()).isEqualTo(1);
    assertThat(seats().isBusy()).isTrue();
    ends.get(1).fail(new IllegalStateException("late"));
    rig.runAll();

    assertThat(replica.slots().ongoing()).isZero();
    assertThat(seats().isBusy()).isFalse();
  }

  // --- live changes ---

  @Test
  void aRaisedNumberOfBatchesNotifiesTheRouters() {
    start(rules(1, 0, 1), later);
    send("a");
    int before = pumps;

    change(rules(1, 0, 2));

    assertThat(pumps).isGreaterThan(before);
  }

  @Test
  void aCancelledRequestTakesItsOldRulesWithIt() {
    start(rules(4, 10_000, 4), later);
    long old = send("old");
    change(rules(1, 10_000, 4));
    send("a", "b");
    assertThat(batches).isEmpty();

    rig.cancel(replica, old);
    rig.runAll();
    pass(0);

    assertThat(batches).containsExactly(List.of("a"), List.of("b"));
  }

  @Test
  void equalValuesOfDifferentHeadersAreNotTheSame() {
    dev.berth.api.Headers both = dev.berth.api.Headers.of("x-a", "1").with("x-b", "1");

    assertThat(same("x-a").keyOf("", both)).isNotEqualTo(same("x-b").keyOf("", both));
  }

  private static BatchSettings same(String header) {
    return new BatchSettings(
        1, 0, 1, false, Integer.MAX_VALUE, Long.MAX_VALUE, List.of(), List.of(header));
  }

  // --- cancellation: test_cancelled_requests_are_filtered ---

  @Test
  void aRequestCancelledBeforeTheStartLeavesItsBatch() {
    start(rules(3, 10, 1), atOnce);
    long gone = send("a");
    send("b");

    rig.cancel(replica, gone);
    assertThat(replica.slots().ongoing()).isEqualTo(1);
    pass(10);

    assertThat(batches).containsExactly(List.of("b"));
  }

  @Test
  void aWindowWithoutARequestRunsNothing() {
    start(RAYS, atOnce);

    rig.cancel(replica, send("a"));
    pass(10);

    assertThat(batches).isEmpty();
  }

  @Test
  void aRequestCancelledAfterTheStartFreesItsSlotWithTheBatch() {
    start(rules(2, 10, 1), later);
    long dropped = send("a");
    long served = send("b");

    rig.cancel(replica, dropped);
    rig.runAll();
    assertThat(replica.slots().ongoing()).isEqualTo(2);
    rig.bus.take();
    finishOldest();

    assertThat(outcomes()).containsOnlyKeys(served);
    assertThat(replica.slots().ongoing()).isZero();
  }

  @Test
  void aBatchNeededByNoRequestNeverReachesItsThread() {
    start(rules(2, 10, 1), atOnce);
    ReplicaRig.Call one = call("a");
    ReplicaRig.Call two = call("b");
    rig.sendHeld(one);
    rig.sendHeld(two);
    rig.cancel(replica, one.callId);
    rig.cancel(replica, two.callId);
    rig.runAll();

    assertThat(batches).isEmpty();
    assertThat(replica.slots().ongoing()).isZero();
  }

  @Test
  void aDeadlineThatPassesInTheWindowIsNoFailureOfTheHandler() {
    start(rules(10, 1_000, 1), atOnce);

    send(call("a").deadlineMs(50));
    rig.pass(Duration.ofMillis(100));

    assertThat(replica.slots().ongoing()).isZero();
    assertThat(batches).isEmpty();
  }

  @Test
  void aBatchOfNoThreadMayRunElsewhere() {
    start(rules(1, 0, 1), atOnce);
    rig.noWorkers = true;

    long refused = send("a");

    assertThat(outcomes()).containsOnly(Map.entry(refused, Refusal.NOT_RUN));
  }

  @Test
  void aKilledReplicaKnowsWhichRequestsRan() {
    start(rules(2, 1_000, 1), later);
    long ran = send("a");
    send("b");
    long waits = send("c");

    replica.kill();
    rig.runAll();

    assertThat(outcomes())
        .contains(Map.entry(ran, Kind.OUTCOME_UNKNOWN), Map.entry(waits, Refusal.NOT_RUN));
  }

  // --- live changes: test_batch_setters, test_batch_use_earliest_setters ---

  @Test
  void aChangedSizeLeavesTheWaitingRequestsToTheOldOne() {
    start(rules(3, 1_000, 1), atOnce);
    send("a", "b");

    change(rules(2, 1_000, 1));
    assertThat(batches).isEmpty();
    send("c", "d", "e");

    assertThat(batches).containsExactly(List.of("a", "b", "c"), List.of("d", "e"));
  }

  @Test
  void moreConcurrentBatchesStartWaitingRequests() {
    start(rules(1, 0, 1), later);
    send("a", "b");

    change(rules(1, 0, 2));

    assertThat(batches).hasSize(2);
  }

  // --- seats of granted waiters ---

  private Admission.BatchSeat seat(BatchGroup group) {
    return group.seat();
  }

  @Test
  void aGrantedBatchStartsWithItsLastRequest() {
    start(rules(4, 1_000, 1), atOnce);
    send("loose");
    BatchGroup group = BatchProbe.open(seats(), "", rig.clock.getAsLong());
    assertThat(group.room()).isEqualTo(3);
    assertThat(group.room()).isEqualTo(3);
    Admission.BatchSeat one = seat(group);
    Admission.BatchSeat two = seat(group);
    seat(group);
    group.seal();
    assertThat(BatchProbe.open(seats(), "", rig.clock.getAsLong())).isNull();
    send(call("b").by(one));
    group.withdraw();
    assertThat(batches).isEmpty();
    send(call("c").by(two));

    assertThat(batches).containsExactly(List.of("loose", "b", "c"));
  }

  @Test
  void aRequestThatMissesItsBatchStartsWithTheNext() {
    start(rules(4, 1_000, 1), atOnce);
    BatchGroup group = BatchProbe.open(seats(), "", rig.clock.getAsLong());
    Admission.BatchSeat one = seat(group);
    Admission.BatchSeat late = seat(group);
    group.seal();
    send(call("a").by(one));

    pass(499);
    assertThat(batches).isEmpty();
    pass(1);
    assertThat(batches).containsExactly(List.of("a"));
    send(call("b").by(late));

    assertThat(seats().loose("")).isZero(); // its window was over
    assertThat(batches).containsExactly(List.of("a"), List.of("b"));
  }

  @Test
  void aBatchWithoutRequestsFreesItsPlace() {
    start(rules(4, 1_000, 1), atOnce);
    BatchGroup group = BatchProbe.open(seats(), "", rig.clock.getAsLong());
    seat(group);
    group.seal();
    pumps = 0;

    group.withdraw();

    assertThat(seats().isBusy()).isFalse();
    assertThat(pumps).isEqualTo(1);
  }

  @Test
  void aSeatWhoseRequestIsRefusedIsGivenUp() {
    start(rules(4, 1_000, 1), atOnce);
    BatchGroup group = BatchProbe.open(seats(), "", rig.clock.getAsLong());
    Admission.BatchSeat late = seat(group);
    group.seal();

    send(call("a").by(late).acceptMicros(0));

    assertThat(outcomes()).containsValue(Refusal.TOO_LATE);
    assertThat(seats().isBusy()).isFalse();
  }

  @Test
  void aRequestWithABodyToComeGivesUpItsSeat() {
    start(rules(4, 1_000, 1), atOnce);
    BatchGroup group = BatchProbe.open(seats(), "", rig.clock.getAsLong());
    Admission.BatchSeat seat = seat(group);
    group.seal();
    ReplicaRig.Call gathered = call("").following(Buffer.buffer("a")).by(seat);

    send(gathered);
    assertThat(seats().isBusy()).isFalse();
    rig.frame(replica, gathered.callId, 0, Buffer.buffer("b"), true);
    rig.runAll();
    pass(1_000);

    assertThat(batches).containsExactly(List.of("ab"));
  }

  @Test
  void anotherInstanceHasNoSeats() {
    start(rules(4, 1_000, 1), atOnce);
    BatchGroup group = BatchProbe.open(seats(), "", rig.clock.getAsLong());
    Admission.BatchSeat seat = seat(group);
    group.seal();

    rig.send(call("a").from(AWAY).by(seat));

    assertThat(outcomes()).containsValue(Refusal.UNKNOWN_TOKEN);
    pass(50);
  }

  @Test
  void theObserverFillsABatchOfLooseRequests() {
    start(rules(3, 10, 1), atOnce);
    List<Admission.BatchSeat> given = new ArrayList<>();
    rig.host.observe(
        replica.address(),
        new SlotObserver() {
          @Override
          public void onSlotFreed(Slots freed) {}

          @Override
          public void onBatchOpen(BatchGroup group) {
            given.add(group.seat());
          }
        });
    send("loose");
    pass(10);
    assertThat(batches).isEmpty();

    send(call("queued").by(given.get(0)));

    assertThat(batches).containsExactly(List.of("loose", "queued"));
  }

  @Test
  void theEndOfABatchPumpsOnceEverySlotIsFree() {
    start(rules(4, 10, 1), 4, later);
    List<Integer> inUse = new ArrayList<>();
    send("a", "b", "c", "d");
    rig.host.observe(
        replica.address(),
        new SlotObserver() {
          @Override
          public void onSlotFreed(Slots freed) {
            BatchGroup next = BatchProbe.open(seats(), "", rig.clock.getAsLong());
            if (next != null) {
              inUse.add(freed.ongoing());
              next.seal();
            }
          }
        });

    finishOldest();

    assertThat(inUse).isNotEmpty().allMatch(count -> count == 0);
  }

  // --- methods, spread replicas, starts ---

  @Test
  void aBatchedMethodStandsBesideAnOrdinaryHandler() {
    AsyncHandler handler =
        new AsyncHandler() {
          @Override
          public Future<Response> handle(Request request, dev.berth.api.RequestContext context) {
            return Future.succeededFuture(Response.text("plain"));
          }

          @Override
          public Map<String, ReplicaHandler> methods() {
            return Map.of("many", atOnce);
          }
        };
    start(rules(2, 10, 1), handler);

    long plain = send("a");
    assertThat(outcomes()).containsOnly(Map.entry(plain, "plain"));
    send(call("b").named("r", "many", ""));
    send(call("c").named("r", "many", ""));

    assertThat(batches).containsExactly(List.of("b", "c"));
    assertThat(replica.batchedMethods()).isEqualTo("many");
  }

  @Test
  void aBatchHoldsRequestsOfSeveralLoops() {
    rig = new ReplicaRig(limits(rules(2, 10, 1)), 2);
    replica = rig.start(8, context -> atOnce, 2);
    assertThat(replica.slots().tryAcquire()).isTrue();
    assertThat(replica.slots().tryAcquire()).isTrue();

    rig.loops.get(0).onMessage(call("a").message());
    rig.loops.get(1).onMessage(call("b").to(replica.address().onLoop(1)).message());
    rig.runAll();

    assertThat(batches).containsExactly(List.of("a", "b"));
    assertThat(outcomes()).containsValues("a", "b");
  }

  @Test
  void handlerAndConfigurationAgree() {
    rig = new ReplicaRig();
    Future<Replica> undeclared = rig.begin(4, context -> atOnce, 1);
    rig.runAll();
    assertThat(undeclared.cause()).hasMessageContaining("berth.batching");

    rig = new ReplicaRig(limits(RAYS), 1);
    Future<Replica> ordinary = rig.begin(4, context -> ReplicaRig.answering(Response.text("a")), 1);
    rig.runAll();
    assertThat(ordinary.cause()).hasMessageContaining("berth.batching: set");
    assertThat(OWN).isNotNull();
  }
}

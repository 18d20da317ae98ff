package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.AWAY;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.api.AsyncBatchHandler;
import dev.berth.api.BatchHandler;
import dev.berth.api.BatchResult;
import dev.berth.api.BerthException.Kind;
import dev.berth.api.Response;
import dev.berth.fakes.LogLines;
import dev.berth.metrics.Meters;
import dev.berth.protocol.Admission;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BusMessage.StreamFrame;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.HeadBytes;
import dev.berth.replica.batch.BatchProbe;
import dev.berth.replica.log.FailureLog;
import dev.berth.view.BatchFill;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The ends of batches: each request frees its slot once and each batch its place, whatever the
 * handler, the callers and the replica do. The superclass checks the ledger after each test.
 */
class BatchEndsTest extends BatchingRig {
  private int ongoing() {
    return replica.slots().ongoing();
  }

  // --- handlers ---

  /** A list that computes its elements fails where it is read, and not only in the handler. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aListThatFailsWhenReadFailsItsBatch(boolean asynchronous) {
    start(rules(3, 10, 1), asynchronous ? later : atOnce);
    answers =
        items ->
            new AbstractList<>() {
              @Override
              public BatchResult get(int index) {
                if (index == 1) {
                  throw new IllegalStateException("computed late");
                }
                return BatchResult.of(Response.text("ok"));
              }

              @Override
              public int size() {
                return items.size();
              }
            };

    send("a", "b", "c");
    if (asynchronous) {
      finishOldest();
    }

    assertThat(outcomes().values())
        .hasSize(3)
        .allSatisfy(each -> assertThat(each).isEqualTo(Kind.HANDLER_FAILED));
    assertThat(ongoing()).isZero();
    assertThat(seats().isBusy()).isFalse();
    answers = BatchingRig::echo;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aWrongNumberOfResultsIsLoggedOnceForItsBatch(boolean typed) {
    BatchHandler handler =
        items -> typed ? BatchResult.requireSize(List.of(), items.size()) : List.of();
    start(rules(2, 10, 1), handler);

    try (LogLines lines = new LogLines(FailureLog.class, Level.WARN)) {
      send("a", "b");

      assertThat(lines.all())
          .singleElement()
          .satisfies(
              line -> {
                assertThat(line.getFormattedMessage()).isEqualTo("batch handler failed");
                assertThat(line.getThrowableProxy().getMessage()).contains("has length 2 but");
              });
    }
    assertThat(outcomes().values()).hasSize(2).containsOnly(Kind.HANDLER_FAILED);
  }

  @Test
  void aListChangedAfterItsReturnHasNoEffect() {
    List<BatchResult> shared = new ArrayList<>();
    Promise<List<BatchResult>> promise = Promise.promise();
    AsyncBatchHandler handler = items -> promise.future();
    start(rules(2, 10, 1), handler);
    send("a", "b");

    shared.addAll(echo(List.of()));
    shared.add(BatchResult.of(Response.text("1")));
    shared.add(BatchResult.of(Response.text("2")));
    ReplicaRig.elsewhere(() -> promise.complete(shared));
    shared.clear();
    rig.runAll();

    assertThat(outcomes()).containsValues("1", "2");
  }

  @Test
  void aFutureThatFailsLaterFailsItsBatch() {
    start(rules(2, 10, 1), later);
    send("a", "b");

    ReplicaRig.elsewhere(() -> open.remove().fail(new IllegalStateException("late")));
    rig.runAll();

    assertThat(outcomes().values()).hasSize(2).containsOnly(Kind.HANDLER_FAILED);
    assertThat(ongoing()).isZero();
  }

  @Test
  void aBatchWithoutEndOccupiesItsPlaceAlone() {
    Promise<List<BatchResult>> stuck = Promise.promise();
    AsyncBatchHandler handler =
        items ->
            bodies(items).contains("stuck") ? stuck.future() : Future.succeededFuture(echo(items));
    start(rules(1, 0, 2), handler);

    send("stuck", "a", "b");
    pass(1_000);

    assertThat(outcomes()).containsValues("a", "b");
    assertThat(ongoing()).isEqualTo(1);
    assertThat(seats().isBusy()).isTrue();
    replica.kill();
    rig.runAll();
    assertThat(outcomes()).containsValue(Kind.OUTCOME_UNKNOWN);
    assertThat(ongoing()).as("its handler may still run").isEqualTo(1);
    stuck.complete(List.of());
    rig.runAll();
  }

  // --- cancelled requests ---

  @Test
  void theLastCancelInterruptsTheThread() {
    List<Boolean> interrupted = new ArrayList<>();
    BatchHandler handler =
        items -> {
          rig.cancel(replica, ReplicaRig.callId(1, 1));
          interrupted.add(Thread.currentThread().isInterrupted());
          rig.cancel(replica, ReplicaRig.callId(2, 1));
          interrupted.add(Thread.currentThread().isInterrupted());
          throw new InterruptedException();
        };
    start(rules(2, 10, 1), handler);

    send("a", "b");

    assertThat(interrupted).containsExactly(false, true);
    assertThat(Thread.interrupted()).isFalse();
    assertThat(outcomes()).isEmpty();
    assertThat(ongoing()).isZero();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void cancelledRequestsOfAFailedBatchFreeTheirSlots(
      boolean before) { // test_cancellation_after_error
    start(rules(3, 10, 1), later);
    long first = send("a");
    long second = send("b");
    send("c");
    if (before) {
      rig.cancel(replica, first);
    }
    open.remove().fail(new IllegalStateException("failed"));
    rig.runAll();
    rig.cancel(replica, second);

    assertThat(outcomes().values()).hasSize(before ? 2 : 3).containsOnly(Kind.HANDLER_FAILED);
    assertThat(ongoing()).isZero();
    send("d", "e", "f");
    finishOldest();
    assertThat(outcomes()).containsValues("d", "e", "f");
  }

  @Test
  void aCancelAndADeadlineInOneBatchFreeEachSlotOnce() {
    start(rules(3, 10, 1), later);
    send(call("a").deadlineMs(50));
    long dropped = send("b");
    long served = send("c");

    rig.pass(Duration.ofMillis(100));
    rig.cancel(replica, dropped);
    rig.cancel(replica, dropped);
    rig.pass(Duration.ofSeconds(60));
    assertThat(ongoing()).isEqualTo(3);
    assertThat(replica.slots().view("r", replica.view().zombies()).zombies()).isEqualTo(2);
    rig.bus.take();
    finishOldest();

    assertThat(outcomes()).containsOnlyKeys(served);
    assertThat(ongoing()).isZero();
    assertThat(replica.view().zombies()).isZero();
  }

  @Test
  void aStreamWhoseCallerLeavesEndsAlone() { // test_batching_client_dropped_streaming
    start(rules(2, 10, 1), atOnce);
    List<Promise<Void>> ends = new ArrayList<>();
    answers =
        items ->
            items.stream()
                .map(
                    each ->
                        BatchResult.of(
                            Response.stream(
                                "text/plain",
                                out -> {
                                  Promise<Void> end = Promise.promise();
                                  ends.add(end);
                                  out.write(each.request().bytes());
                                  return end.future();
                                })))
                .toList();
    long leaves = send("a");
    long stays = send("b");

    rig.cancel(replica, leaves);
    rig.bus.take();
    assertThat(ongoing()).as("its producer may still run").isEqualTo(2);
    ends.get(0).complete();
    rig.runAll();
    assertThat(ongoing()).isEqualTo(1);
    ends.get(1).complete();
    rig.runAll();

    assertThat(rig.bus.take())
        .filteredOn(StreamFrame.class::isInstance)
        .extracting(each -> ((StreamFrame) each).callId())
        .containsOnly(stays);
    assertThat(ongoing()).isZero();
    assertThat(seats().isBusy()).isFalse();
    answers = BatchingRig::echo;
  }

  /** The rules of a batch that streams are those of its start. */
  @Test
  void aChangeDuringAStreamAppliesToTheNextBatch() { // test_batch_generator_setters
    start(rules(1, 1_000, 1), later);
    Promise<Void> end = Promise.promise();
    answers =
        items ->
            List.of(
                BatchResult.of(
                    Response.stream(
                        "text/plain",
                        out -> out.write(Buffer.buffer("1")).eventually(end::future))));
    send("a");
    finishOldest();

    change(rules(2, 1_000, 1));
    send("b", "c");
    assertThat(batches).containsExactly(List.of("a"));
    end.complete();
    rig.runAll();

    assertThat(batches).containsExactly(List.of("a"), List.of("b", "c"));
    answers = BatchingRig::echo;
  }

  // --- the replica ends ---

  @Test
  void aDrainingReplicaRespondsToTheRequestsInLine() {
    start(rules(2, 10, 1), later);
    send("a", "b", "c", "d");
    assertThat(BatchProbe.open(seats(), "", rig.clock.getAsLong())).as("one runs").isNull();
    Future<Void> drained = replica.drain();
    rig.runAll();
    List<Integer> responding = new ArrayList<>(); // tasks that are still to respond
    drained.onComplete(done -> responding.add(rig.tasks.size()));

    finishOldest();
    assertThat(outcomes()).containsValues("a", "b");
    assertThat(drained.isComplete()).isFalse();
    finishOldest();

    assertThat(outcomes()).containsValues("c", "d");
    assertThat(responding).containsExactly(0);
  }

  @Test
  void aKillDuringTheWindowReturnsEachRequestAndItsSeats() {
    start(rules(4, 1_000, 1), later);
    long loose = send("a");
    BatchGroup group = BatchProbe.open(seats(), "", rig.clock.getAsLong());
    Admission.BatchSeat seat = group.seat();
    Admission.BatchSeat late = group.seat();
    group.seal();
    long seated = send(call("b").by(seat));
    assertThat(replica.slots().tryAcquire()).as("of the late request").isTrue();

    replica.kill();
    rig.runAll();

    assertThat(outcomes())
        .containsOnly(Map.entry(loose, Refusal.NOT_RUN), Map.entry(seated, Refusal.NOT_RUN));
    rig.send(call("c").by(late));
    assertThat(outcomes()).containsValue(Refusal.UNKNOWN_REPLICA);
    pass(50);
    assertThat(batches).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aKillBehindTheEndOfABatchLeavesItsResponses(boolean slotless) {
    start(rules(2, 10, 1), later);
    for (String body : List.of("a", "b")) {
      if (slotless) {
        replica.gate.permitSlotless(2);
        rig.send(call(body).attempt(rig.attempt()).by(Admission.NoSlot.NO_SLOT));
        rig.runAll();
      } else {
        send(body);
      }
    }
    open.remove().complete(List.of());
    assertThat(ongoing()).as("slots before responses").isZero();
    assertThat(rig.bus.take()).isEmpty();

    replica.kill();
    rig.runAll();

    assertThat(outcomes()).containsValues("a", "b").hasSize(2);
  }

  /** A request of another loop may be cancelled before it sees the start of its batch. */
  @Test
  void aKilledRequestIsCancelledOnce() {
    List<Boolean> interrupted = new ArrayList<>();
    BatchHandler handler =
        items -> {
          HandledRequest.HandlerCall call = ((Invocation) items.get(0).context()).call;
          assertThat(call.cancel()).isFalse();
          assertThat(call.cancel()).isFalse();
          interrupted.add(Thread.currentThread().isInterrupted());
          return echo(items);
        };
    start(rules(2, 10, 1), handler);

    send("a", "b");

    assertThat(interrupted).containsExactly(false);
    assertThat(outcomes()).containsValues("a", "b");
  }

  @Test
  void aReservationJoinsTheNextBatch() {
    start(rules(2, 10, 1), atOnce);
    SlotToken token = rig.reserve(replica, rig.attempt(), 10_000);
    send("a");

    rig.send(call("b").from(AWAY).by(token));
    rig.runAll();

    assertThat(batches).containsExactly(List.of("a", "b"));
  }

  // --- Ray Serve's tests of whole batches ---

  @Test
  void moreRequestsThanABatchFillSeveral() { // test_batch_wait_queue_exceeds_batch_size_...
    start(rules(2, 10_000, 1), atOnce);

    send("a", "b", "c", "d", "e", "f", "g", "h", "i", "j");

    assertThat(batches).hasSize(5).allSatisfy(each -> assertThat(each).hasSize(2));
    assertThat(outcomes()).hasSize(10);
  }

  @Test
  void theMetricsAreThoseOfRay() { // test_observability_helpers
    start(rules(4, 10, 1), later);
    Meters meters = new Meters("n", "", "", false);
    meters.add(into -> ReplicaSeries.show(replica, "/echo", into));
    ReplicaRig.Call queued = call("a");
    queued.waitedMicros = 5_000;
    send(queued);
    pass(2);
    send("b", "c");
    assertThat(metrics(meters)).containsExactly("serve_batch_queue_length 3.0");
    pass(3);
    pass(20);
    finishOldest();

    assertThat(metrics(meters))
        .contains(
            "serve_actual_batch_size_bucket{function_name='handle',le='4.0'} 1",
            "serve_actual_batch_size_bucket{function_name='handle',le='2.0'} 0",
            "serve_actual_batch_size_sum{function_name='handle'} 3.0",
            "serve_batch_execution_time_ms_sum{function_name='handle'} 20.0",
            "serve_batch_queue_length 0.0",
            "serve_batch_utilization_percent_bucket{function_name='handle',le='70.0'} 0",
            "serve_batch_utilization_percent_bucket{function_name='handle',le='80.0'} 1",
            "serve_batch_utilization_percent_sum{function_name='handle'} 75.0",
            "serve_batch_wait_time_ms_count{function_name='handle'} 3",
            "serve_batch_wait_time_ms_sum{function_name='handle'} 16.0",
            "serve_batches_processed_total{function_name='handle'} 1.0");
    assertThat(replica.batchFill()).isEqualTo(new BatchFill(1, 75));
  }

  /** Returns the series of batches with the method and the bound of the labels. */
  private static List<String> metrics(Meters meters) {
    return meters
        .scrape("text/plain; version=0.0.4; charset=utf-8")
        .lines()
        .filter(line -> line.matches("serve_(batch|actual).*"))
        .map(line -> line.replaceAll("(application|deployment|replica)=\"[^\"]*\",?", ""))
        .map(line -> line.replace(",}", "}").replace("{}", "").replace('"', '\''))
        .toList();
  }

  @Test
  void eachItemHasItsOwnContext() { // test_batching_request_context
    List<String> ids = new ArrayList<>();
    AsyncBatchHandler handler =
        items -> {
          items.forEach(each -> ids.add(each.context().requestId()));
          return Future.succeededFuture(echo(items));
        };
    start(rules(3, 10, 1), handler);

    for (String id : List.of("x", "y", "z")) {
      send(call(id).named(id, "", ""));
    }

    assertThat(ids).containsExactly("x", "y", "z");
  }

  @Test
  void aResultThatCannotBeSentFailsItsRequestAlone() {
    start(rules(2, 10, 1), atOnce);
    answers =
        items ->
            List.of(
                BatchResult.of(Response.text("a").withHeader("x", "a".repeat(HeadBytes.MAX))),
                BatchResult.of(Response.text("ok")));
    long bad = send("a");
    long good = send("b");

    assertThat(outcomes()).containsEntry(bad, Kind.HANDLER_FAILED).containsEntry(good, "ok");
    answers = BatchingRig::echo;
  }
}

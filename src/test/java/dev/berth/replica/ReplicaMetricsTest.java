package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.callId;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.metrics.Meters;
import dev.berth.replica.log.FailureCounts;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** What a replica measures. */
class ReplicaMetricsTest {
  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";

  private final ReplicaRig rig = new ReplicaRig();
  private final ReplicaRig.Waiting handler = new ReplicaRig.Waiting();

  private static List<String> lines(Replica replica) {
    Meters meters = new Meters("n", "a", "", false);
    meters.add(into -> into.histogram("time_ms", replica.processingTimes()));
    return meters.scrape(TEXT).lines().toList();
  }

  private static AsyncHandler failing(Throwable failure) {
    return (request, context) -> Future.failedFuture(failure);
  }

  @Test
  void aRequestTakesAsLongAsItsHandler() {
    Replica replica = rig.busy(2, handler, callId(1, 1));
    rig.pass(Duration.ofMillis(50));
    rig.sendHeld(replica, callId(2, 1));
    rig.pass(Duration.ofMillis(100));
    handler.answer();
    handler.answer();
    rig.runAll();
    assertThat(lines(replica)).contains("time_ms_count 2", "time_ms_sum 250.0");
    assertThat(replica.maxProcessingNanos()).isEqualTo(Duration.ofMillis(150).toNanos());
    rig.pass(Duration.ofSeconds(61));
    assertThat(replica.maxProcessingNanos()).isZero();
  }

  @Test
  void aCancelledRequestTakesUntilItsHandlerSettles() {
    Replica replica = rig.busy(1, handler, callId(1, 1));
    rig.cancel(replica, callId(1, 1));
    rig.pass(Duration.ofMillis(400));
    assertThat(lines(replica)).contains("time_ms_count 0");
    handler.answer();
    rig.runAll();
    assertThat(lines(replica)).contains("time_ms_count 1", "time_ms_sum 400.0");
  }

  @Test
  void failuresAreCountedByTheClassOfTheirCause() {
    Replica replica = rig.start(1, failing(new CompletionException(new ArithmeticException("x"))));
    rig.sendHeld(replica, callId(1, 1));
    rig.sendHeld(replica, callId(2, 1));
    rig.runAll();
    assertThat(replica.errors())
        .containsOnlyKeys("java.lang.ArithmeticException")
        .containsValue(2L);
  }

  @Test
  void aFailureOfOursIsCountedToo() {
    Replica replica =
        rig.settled(rig.busy(1, failing(new BerthException.Timeout("child")), callId(1, 1)));
    assertThat(replica.errors()).containsOnlyKeys(BerthException.Timeout.class.getName());
    assertThat(replica.failures.counts.sums()).as("and is nothing to log").isEmpty();
  }

  @Test
  void classesOfFailuresAreBounded() {
    FailureCounts counts = new FailureCounts(1);
    assertThat(counts.add(new ArithmeticException())).isEqualTo("java.lang.ArithmeticException");
    assertThat(counts.add(new IllegalStateException())).isEqualTo("other");
    assertThat(counts.add(new IllegalArgumentException())).isEqualTo("other");
    assertThat(counts.add(new ArithmeticException())).isEqualTo("java.lang.ArithmeticException");
    assertThat(counts.sums())
        .containsEntry("java.lang.ArithmeticException", 2L)
        .containsEntry("other", 2L)
        .hasSize(2);
  }

  @Test
  void utilizationIsTheMeanOfBusySlotsWhileRequestsRun() {
    Replica replica = rig.start(4, handler);
    assertThat(replica.utilization()).isZero();
    rig.host.sweep(0, 1, mismatch -> {});
    rig.sendHeld(replica, callId(1, 1));
    rig.sendHeld(replica, callId(2, 1));
    rig.host.sweep(0, 1, mismatch -> {});
    assertThat(replica.utilization()).isEqualTo(0.25);
  }
}

package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.callId;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.Replicas;
import dev.berth.metrics.LatencyBuckets;
import dev.berth.metrics.Meters;
import dev.berth.replica.log.FailureCounts;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

/** What a replica measures. */
class ReplicaMetricsTest {
  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";
  private static final int CHECKS = 20_000;

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
    assertThat(lines(replica)).noneMatch(line -> line.startsWith("time_ms"));
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
  void aCounterOfAReplicaAppearsWithItsFirstCount() {
    Replica idle = rig.start(4, handler);
    String counter = "[^#].*_total\\{.*replica=.*";
    assertThat(CountingReplica.metrics(idle).lines())
        .filteredOn(line -> line.matches(counter))
        .singleElement(InstanceOfAssertFactories.STRING)
        .startsWith("serve_deployment_replica_starts_total");
    String series = "{application=\"app\",deployment=\"echo\",replica=\"app#echo#7\"} 1.0";
    String routed = series.replace("}", ",route=\"/echo\"}");
    assertThat(CountingReplica.metrics().lines())
        .filteredOn(line -> line.matches(counter))
        .containsExactlyInAnyOrder(
            "berth_attempts_forgotten_early_total" + series,
            "berth_failures_unlogged_total" + routed,
            "berth_lease_expiries_total" + series,
            "berth_replica_timeouts_total" + routed,
            "berth_slots_granted_total" + series,
            "serve_deployment_replica_starts_total" + series,
            "serve_health_check_failures_total" + series);
  }

  @Test
  void seriesOfAReplicaStayWhenTheirValueReturnsTo0() {
    Replica replica = rig.busy(2, handler, callId(1, 1));
    rig.pass(Duration.ofMillis(50));
    handler.answer();
    rig.runAll();
    Set<String> served = series(replica);
    String max = "serve_deployment_max_processing_latency_ms";
    assertThat(served).anyMatch(name -> name.startsWith(max));
    rig.pass(Duration.ofSeconds(61));
    assertThat(series(replica)).isEqualTo(served);
    assertThat(CountingReplica.metrics(replica).lines())
        .anyMatch(line -> line.startsWith(max) && line.endsWith("} 0.0"));
  }

  /** Names and labels of the replica's series. */
  private static Set<String> series(Replica replica) {
    return CountingReplica.metrics(replica)
        .lines()
        .filter(line -> !line.startsWith("#"))
        .map(line -> line.substring(0, line.lastIndexOf(' ')))
        .collect(Collectors.toSet());
  }

  @Test
  void gaugesWithoutTheLabelOfAReplicaAreSums() {
    Replica one = rig.start(4, handler);
    Replica other = rig.start(5, handler);
    one.passive.suspect = true;
    other.passive.suspect = true;
    one.zombieFound();
    String labels = "{application=\"app\",deployment=\"echo\"} ";
    assertThat(CountingReplica.metrics(one, other).lines())
        .contains(
            "berth_replica_suspect" + labels + "2.0",
            "serve_zombie_requests" + labels + "1.0",
            "berth_zombie_requests_limit" + labels + "32.0",
            "berth_audit_mismatches" + labels + "0.0",
            "berth_remembered_leases" + labels + "0.0",
            "berth_remembered_leases_limit" + labels + 2.0 * one.ledgerLimits.rememberedMax());
  }

  @Test
  void replicasOfADeploymentShareTheHistogramOfHealthChecksAndLeaveTheirTimesInIt() {
    rig.start(1, handler);
    Replica second = rig.start(1, handler);
    assertThat(rig.healthCheckTimes.count()).as("one before the start of each").isEqualTo(2);
    rig.settled(second.shutDown(Duration.ZERO));
    rig.pass(Duration.ofMinutes(1));
    assertThat(rig.healthCheckTimes.count()).isEqualTo(2);
  }

  @Test
  void checksOfSeveralReplicasAtOnceAllCount() throws Exception {
    LatencyBuckets times = new LatencyBuckets();
    List<Thread> threads =
        IntStream.range(0, 4).mapToObj(replica -> new Thread(() -> check(CHECKS, times))).toList();
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(times.count()).isEqualTo(4 * CHECKS);
  }

  private static void check(int checks, LatencyBuckets times) {
    ManualClock clock = new ManualClock();
    HealthCheckRunner runner =
        new HealthCheckRunner(
            new HealthCheckState(Replicas.HEALTH_CHECKS, new SplittableRandom(1), 0),
            ReplicaRig.hooks(Runnable::run, clock),
            times,
            () -> {});
    for (int check = 0; check < checks; check++) {
      try {
        runner.checkFirst();
      } catch (Throwable failed) {
        throw new AssertionError(failed);
      }
    }
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

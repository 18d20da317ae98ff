package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.FakeHandle;
import dev.berth.fakes.ManualClock;
import dev.berth.metrics.MetricsPusher.ReportIntervals;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.NodeFigures;
import dev.berth.protocol.ReplicaStats;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MetricsPusherTest {
  private static final Duration RECORD = Duration.ofMillis(200);
  private static final Duration PUSH = Duration.ofSeconds(1);
  private static final int SAMPLES_PER_PUSH = 5;
  private static final long TERM = 3; // of the controller

  private final ManualClock clock = new ManualClock();
  private final MetricsPusher pusher = pusher(64 << 10);

  @Test
  void oneBatchPerIntervalWhateverTheNumberOfHandles() {
    for (int i = 0; i < 1000; i++) {
      pusher.register(new FakeHandle("d" + i).with(1, 0, 0));
    }
    sample(10 * SAMPLES_PER_PUSH);
    assertThat(pusher.batches()).isEqualTo(10);
  }

  @Test
  void anInstanceWithNothingToTellStillSaysThatItLivesAndItsSequenceRises() {
    HandleMetricBatch first = acknowledged(nextBatch());
    assertThat(first.handles()).isEmpty();
    assertThat(first.node()).isEqualTo("node-1");
    assertThat(first.incarnation()).isEqualTo(7);
    clock.advance(Duration.ofNanos(MetricsPusher.LIFE_NANOS).minus(PUSH).minus(RECORD));
    assertThat(tick(pusher)).as("a batch, within the time of a sign of life").isNull();
    assertThat(nextBatch().sequence()).isEqualTo(first.sequence() + 1);
  }

  @Test
  void aFailedSignOfLifeIsRepeatedInTheNextInterval() {
    HandleMetricBatch first = acknowledged(nextBatch());
    clock.advance(Duration.ofNanos(MetricsPusher.LIFE_NANOS));
    pusher.onSettled(nextBatch().sequence(), -1);
    assertThat(nextBatch().sequence()).isEqualTo(first.sequence() + 2);
  }

  @Test
  void theAverageIsOfAllSamplesSinceTheLastBatch() {
    FakeHandle handle = new FakeHandle("d");
    pusher.register(handle);
    HandleMetricBatch batch = null;
    for (int sample = 1; sample <= SAMPLES_PER_PUSH; sample++) {
      handle.with(sample, sample, sample);
      batch = tick(pusher);
    }
    HandleMetricReport report = only(batch);
    assertThat(report.averageLoad()).isEqualTo(3.0 * (1 + 2 + 3 + 4 + 5) / SAMPLES_PER_PUSH);
    assertThat(report.queued()).isEqualTo(SAMPLES_PER_PUSH);

    acknowledged(batch);
    handle.with(0, 2, 0);
    assertThat(only(nextBatch()).averageLoad()).isEqualTo(2.0);
  }

  @Test
  void aBurstBetweenTwoBatchesIsSeenThoughItsEndIsZero() {
    FakeHandle handle = new FakeHandle("d");
    pusher.register(handle);
    acknowledged(nextBatch());
    handle.with(10, 0, 0);
    tick(pusher);
    handle.with(0, 0, 0);
    HandleMetricReport report = only(nextBatch());
    assertThat(report.queued()).isZero();
    assertThat(report.averageLoad()).isPositive();
  }

  @Test
  void onlyChangedOrNonZeroHandlesRide() {
    FakeHandle idle = new FakeHandle("idle");
    FakeHandle busy = new FakeHandle("busy").with(0, 1, 0);
    pusher.register(idle);
    pusher.register(busy);
    assertThat(names(acknowledged(nextBatch()))).containsExactlyInAnyOrder("idle", "busy");
    assertThat(names(acknowledged(nextBatch()))).containsExactly("busy");
    busy.with(0, 0, 0);
    assertThat(names(acknowledged(nextBatch()))).containsExactly("busy");
    assertThat(names(acknowledged(nextBatch()))).isEmpty();
  }

  /** Held slots are used capacity; what is read below zero is zero. */
  @ParameterizedTest
  @CsvSource({"1, 2, 3, 1, 2, 6", "-1, -2, 4, 0, 0, 4"})
  void aReportIsOfAllGauges(
      int queued, int running, int reserved, int queuedTold, int runningTold, double load) {
    pusher.register(new FakeHandle("d").with(queued, running, reserved));
    HandleMetricReport report = only(nextBatch());
    assertThat(report.queued()).isEqualTo(queuedTold);
    assertThat(report.running()).isEqualTo(runningTold);
    assertThat(report.averageLoad()).isEqualTo(load);
  }

  @Test
  void severalSourcesOfOneDeploymentAreOneReport() {
    FakeHandle one = new FakeHandle("d").with(1, 0, 0);
    FakeHandle other = new FakeHandle("d").with(2, 0, 0);
    MeterRegistration first = pusher.register(one);
    pusher.register(other);
    HandleMetricReport report = only(acknowledged(nextBatch()));
    assertThat(report.queued()).isEqualTo(3);

    first.close();
    report = only(acknowledged(nextBatch()));
    assertThat(report.queued()).isEqualTo(2);
  }

  @Test
  void unregisterSendsAFinalZeroAndThenForgets() {
    FakeHandle handle = new FakeHandle("d").with(3, 0, 0);
    MeterRegistration registration = pusher.register(handle);
    acknowledged(nextBatch());
    registration.close();
    registration.close();
    assertThat(only(acknowledged(nextBatch())))
        .isEqualTo(HandleMetricReport.finalZero(handle.deployment()));
    clock.advance(Duration.ofNanos(MetricsPusher.LIFE_NANOS));
    assertThat(nextBatch().handles()).isEmpty();
    assertThat(pusher.handles()).isZero();
  }

  @Test
  void aFinalZeroThatWasLostIsSentAgain() {
    MeterRegistration registration = pusher.register(new FakeHandle("d").with(3, 0, 0));
    acknowledged(nextBatch());
    registration.close();
    HandleMetricBatch lost = nextBatch();
    pusher.onSettled(lost.sequence(), -1);
    assertThat(only(acknowledged(nextBatch())).isZero()).isTrue();
    assertThat(pusher.handles()).isZero();
    assertThat(pusher.failedCount()).isEqualTo(1);
  }

  @Test
  void aDeploymentThatComesBackWhileItsFinalZeroIsInFlightStays() {
    FakeHandle handle = new FakeHandle("d").with(1, 0, 0);
    MeterRegistration registration = pusher.register(handle);
    acknowledged(nextBatch());
    registration.close();
    HandleMetricBatch finalZero = nextBatch();
    pusher.register(handle);
    acknowledged(finalZero);
    assertThat(only(nextBatch()).queued()).isEqualTo(1);
  }

  @Test
  void handleThatLeavesDuringAPushSendsItsFinalZeroNext() {
    FakeHandle handle = new FakeHandle("d").with(3, 0, 0);
    MeterRegistration registration = pusher.register(handle);
    HandleMetricBatch last = nextBatch();
    registration.close();
    acknowledged(last);
    assertThat(pusher.handles()).as("its final zero is due").isEqualTo(1);
    assertThat(only(acknowledged(nextBatch())))
        .isEqualTo(HandleMetricReport.finalZero(handle.deployment()));
    assertThat(pusher.handles()).isZero();
  }

  @Test
  void aFailedPushLosesNothingButTime() {
    FakeHandle handle = new FakeHandle("d").with(4, 0, 0);
    pusher.register(handle);
    HandleMetricBatch lost = nextBatch();
    pusher.onSettled(lost.sequence(), -1);
    handle.with(0, 0, 0);
    HandleMetricReport again = only(nextBatch());
    assertThat(again.averageLoad()).as("both intervals' samples").isEqualTo(2.0);
  }

  @Test
  void aPushInFlightIsSkippedOverAndCounted() {
    assertThat(nextBatch()).isNotNull();
    for (int tick = 0; tick < SAMPLES_PER_PUSH; tick++) {
      assertThat(tick(pusher)).isNull();
    }
    assertThat(pusher.skipped).isEqualTo(1);
    assertThat(pusher.batches()).isEqualTo(1);
  }

  @Test
  void theInFlightMarkExpiresAndALateAnswerChangesNothing() {
    pusher.register(new FakeHandle("d").with(1, 0, 0));
    HandleMetricBatch unanswered = nextBatch();
    HandleMetricBatch next = null;
    Duration waited = Duration.ZERO;
    while (next == null && waited.compareTo(PUSH.multipliedBy(10)) < 0) {
      next = tick(pusher);
      waited = waited.plus(RECORD);
    }
    assertThat(next).as("a batch in %s", waited).isNotNull();
    assertThat(waited).isEqualTo(Duration.ofSeconds(2));
    assertThat(pusher.expired).isEqualTo(1);
    assertThat(next.sequence()).isEqualTo(unanswered.sequence() + 1);
    assertThat(names(next)).containsExactly("d");

    pusher.onSettled(unanswered.sequence(), TERM);
    for (int tick = 0; tick < SAMPLES_PER_PUSH; tick++) {
      assertThat(tick(pusher)).as("the newer batch is still in flight").isNull();
    }
  }

  @Test
  void whatDoesNotFitGoesFirstNextTime() {
    FakeHandle sample = new FakeHandle("d0");
    MetricsPusher bounded = pusher(3 * reportBytes(sample));
    int handles = 10;
    for (int i = 0; i < handles; i++) {
      bounded.register(new FakeHandle("d" + i).with(1, 0, 0));
    }
    Set<String> seen = new HashSet<>();
    List<Integer> sizes = new ArrayList<>();
    for (int push = 0; push < 4; push++) {
      HandleMetricBatch batch = nextBatch(bounded);
      bounded.onSettled(batch.sequence(), TERM);
      sizes.add(batch.handles().size());
      for (String name : names(batch)) {
        assertThat(seen.add(name) || seen.size() == handles)
            .as("%s rode again before all had", name)
            .isTrue();
      }
    }
    assertThat(sizes).containsExactly(3, 3, 3, 3);
    assertThat(seen).hasSize(handles);
  }

  @Test
  void oneReportAlwaysFits() {
    MetricsPusher tiny = pusher(1);
    tiny.register(new FakeHandle("d").with(1, 0, 0));
    assertThat(nextBatch(tiny).handles()).hasSize(1);
  }

  @Test
  void aSourceThatCannotBeReadIsUnknownAndHidesNoOther() {
    FakeHandle broken = new FakeHandle("broken").with(5, 0, 0);
    FakeHandle sound = new FakeHandle("sound").with(1, 0, 0);
    pusher.register(broken);
    pusher.register(sound);
    broken.broken = true;
    assertThat(names(acknowledged(nextBatch()))).containsExactly("sound");
    assertThat(pusher.unreadable()).isEqualTo(SAMPLES_PER_PUSH);
    broken.broken = false;
    assertThat(names(nextBatch())).containsExactlyInAnyOrder("broken", "sound");
  }

  @Test
  void figuresOfASourceThatCannotBeReadStopNoBatch() {
    pusher.addFigures(new Meters("node-1", "127.0.0.1", "", false));
    FakeHandle broken = new FakeHandle("broken").with(5, 0, 0);
    broken.broken = true;
    pusher.register(broken);
    pusher.register(new FakeHandle("sound").with(1, 0, 0));
    for (int batch = 0; batch < 20; batch++) {
      assertThat(names(acknowledged(nextBatch()))).containsExactly("sound");
    }
  }

  @Test
  void anIdleHandleIsReadWholeOnlyNowAndThen() {
    FakeHandle handle = new FakeHandle("d");
    handle.begun = 3;
    pusher.register(handle);
    int samples = 10 * DeploymentSampler.IDLE_SAMPLES_PER_READING;
    sample(samples);
    assertThat(handle.readings).as("readings in %d samples", samples).isBetween(10, 12);
  }

  @Test
  void aGaugeThatIsRaisedLongAfterItsCountIsFoundSoon() {
    FakeHandle handle = new FakeHandle("d");
    handle.begun = 3;
    pusher.register(handle);
    acknowledged(nextBatch());
    handle.with(0, 1, 0); // its request was counted before, and then stood still
    sample(DeploymentSampler.IDLE_SAMPLES_PER_READING);
    assertThat(only(nextBatch()).running()).isEqualTo(1);
  }

  @Test
  void whatIsReportedIsTheSameHoweverOftenAnIdleHandleIsRead() {
    long seed = 20;
    Random random = new Random(seed);
    FakeHandle counting = new FakeHandle("counting");
    FakeHandle silent = new FakeHandle("silent");
    counting.begun = 0;
    pusher.register(counting);
    pusher.register(silent);
    int batches = 0;
    for (int sample = 0; sample < 5_000; sample++) {
      if (random.nextInt(20) == 0) {
        int running = random.nextInt(3);
        counting.begun += running;
        counting.with(0, running, 0);
        silent.with(0, running, 0);
      } else if (random.nextInt(4) == 0) {
        counting.with(0, 0, 0);
        silent.with(0, 0, 0);
      }
      HandleMetricBatch batch = tick(pusher);
      if (batch != null) {
        batches += batch.handles().size();
        assertThat(batch.handles().stream().map(MetricsPusherTest::figures).distinct())
            .as("seed %d, sample %d: %s", seed, sample, batch)
            .hasSizeLessThanOrEqualTo(1);
        assertThat(batch.handles().size()).isIn(0, 2);
        pusher.onSettled(batch.sequence(), random.nextInt(5) > 0 ? TERM : -1);
      }
    }
    assertThat(batches).isPositive();
    assertThat(counting.readings).isLessThan(silent.readings);
  }

  private static List<Object> figures(HandleMetricReport report) {
    return List.of(report.queued(), report.running(), report.reserved(), report.averageLoad());
  }

  @Test
  void aBlockedLoopIsNotMadeUpForByABurst() {
    acknowledged(nextBatch());
    clock.advance(PUSH.multipliedBy(10));
    HandleMetricBatch late = pusher.tick();
    assertThat(late).isNotNull();
    acknowledged(late);
    assertThat(pusher.tick()).isNull();
  }

  @Test
  void aTimerThatFiresALittleEarlyIsTheOneThatWasMeant() {
    clock.advance(PUSH.minusMillis(1));
    assertThat(pusher.tick()).isNotNull();
  }

  @Test
  void theLastBatchGoesOutWhateverIsInFlight() {
    MeterRegistration registration = pusher.register(new FakeHandle("d").with(1, 0, 0));
    nextBatch();
    registration.close();
    pusher.tick();
    assertThat(only(pusher.lastBatch()).isZero()).isTrue();
  }

  @Test
  void whatReplicasTellRidesWhereNothingElseIsDueAndEachInItsTurn() {
    MetricsPusher roomy = pusher(MetricsPusher.DEFAULT_MAX_REPORT_BYTES);
    Map<String, Double> large =
        IntStream.range(0, ReplicaStats.MAX_STATS)
            .boxed()
            .collect(Collectors.toMap(i -> "\u20ac".repeat(62) + (10 + i), i -> 1.0));
    for (int deployment = 0; deployment < 20; deployment++) {
      for (int i = 0; i < 50; i++) {
        FakeHandle replica = new FakeHandle("d" + deployment);
        replica.stats = ReplicaStats.of(deployment + "#" + i, large);
        roomy.registerReplica(replica);
      }
    }
    Set<String> told = new HashSet<>();
    for (int batches = 0; batches < 6; batches++) {
      HandleMetricBatch batch = nextBatch(roomy);
      WireCodec.encode(batch, Buffer.buffer()); // refuses what is too large
      roomy.onSettled(batch.sequence(), TERM);
      batch.replicas().stream()
          .flatMap(report -> report.stats().stream())
          .forEach(each -> told.add(each.replicaId()));
    }
    assertThat(told).hasSize(20 * 50);
  }

  private MetricsPusher pusher(int maxReportBytes) {
    ReportIntervals rhythm = new ReportIntervals(RECORD, PUSH);
    return new MetricsPusher("node-1", 7, rhythm, rhythm, maxReportBytes, clock);
  }

  private @Nullable HandleMetricBatch tick(MetricsPusher pusher) {
    clock.advance(RECORD);
    return pusher.tick();
  }

  private HandleMetricBatch nextBatch() {
    return nextBatch(pusher);
  }

  private HandleMetricBatch nextBatch(MetricsPusher from) {
    for (int tick = 0; tick < 2 * SAMPLES_PER_PUSH; tick++) {
      HandleMetricBatch batch = tick(from);
      if (batch != null) {
        return batch;
      }
    }
    throw new AssertionError("no batch within two push intervals");
  }

  private void sample(int times) {
    for (int sample = 0; sample < times; sample++) {
      HandleMetricBatch batch = tick(pusher);
      if (batch != null) {
        acknowledged(batch);
      }
    }
  }

  private HandleMetricBatch acknowledged(HandleMetricBatch batch) {
    pusher.onSettled(batch.sequence(), TERM);
    return batch;
  }

  private static HandleMetricReport only(@Nullable HandleMetricBatch batch) {
    assertThat(batch).isNotNull();
    assertThat(batch.handles()).hasSize(1);
    return batch.handles().get(0);
  }

  private static List<String> names(HandleMetricBatch batch) {
    return batch.handles().stream().map(report -> report.deployment().name()).toList();
  }

  private static int reportBytes(FakeHandle handle) {
    return new DeploymentSampler(handle.deployment()).reportBytes();
  }

  @Test
  void figuresRideInTheBatchesWhileThereIsTraffic() {
    Meters meters = new Meters("node-1", "127.0.0.1", "", false);
    RouteMeters route = meters.addIngressLoop().route("/", "app", "d");
    pusher.addFigures(meters);
    FakeHandle handle = new FakeHandle("d");
    handle.autoscales = false;
    pusher.register(handle);
    acknowledged(nextBatch());
    route.recordResponse(HttpMethod.GET, 200, 3_000_000);
    route.recordResponse(HttpMethod.GET, 503, 15_000_000);
    NodeFigures.DeploymentFigures told = acknowledged(nextBatch()).figures().deployments().get(0);
    assertThat(told.requests()).isEqualTo(2);
    assertThat(told.errors()).isEqualTo(1);
    assertThat(told.latencies())
        .containsExactly(new NodeFigures.LatencyCount(2, 1), new NodeFigures.LatencyCount(4, 1));
    assertThat(acknowledged(nextBatch()).figures().deployments().get(0).requests())
        .as("the end of the traffic")
        .isZero();
    for (int i = 0; i < 3 * SAMPLES_PER_PUSH; i++) {
      assertThat(tick(pusher)).as("a batch without traffic").isNull();
    }
    route.recordResponse(HttpMethod.GET, 200, 3_000_000);
    assertThat(nextBatch().figures().intervalMillis())
        .as("time of the request")
        .isBetween(900L, 1_200L);
  }

  @Test
  void gaugesOfLostFiguresAreSentAgain() {
    pusher.addFigures(new Meters("node-1", "127.0.0.1", "", false));
    acknowledged(nextBatch());
    FakeHandle handle = new FakeHandle("d").with(7, 0, 0);
    pusher.register(handle);
    HandleMetricBatch lost = nextBatch();
    assertThat(lost.figures().deployments().get(0).queued()).isEqualTo(7);
    pusher.onSettled(lost.sequence(), -1);
    assertThat(acknowledged(nextBatch()).figures().deployments().get(0).queued()).isEqualTo(7);
    assertThat(acknowledged(nextBatch()).figures().deployments()).isEmpty();
  }
}

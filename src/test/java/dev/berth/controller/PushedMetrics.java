package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.controller.autoscaling.DeploymentLoad;
import dev.berth.controller.autoscaling.HandleReports;
import dev.berth.fakes.ManualClock;
import dev.berth.metrics.MetricsPusher;
import dev.berth.metrics.MetricsPusher.ReportIntervals;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The real pusher of an instance and the controller's real reports, on a clock that tests move. */
final class PushedMetrics {
  static final Duration RECORD = Duration.ofMillis(200);

  final ManualClock clock = new ManualClock();
  final MetricsPusher pusher;
  final List<HandleMetricBatch> arrived = new ArrayList<>();
  HandleReports reports = new HandleReports(Long.MAX_VALUE);
  final Map<DeploymentId, Integer> queues = new HashMap<>(); // of what does not autoscale, as told
  boolean away; // the controller
  boolean held; // answers: a batch stays in flight until settle()
  long term = 1;
  private @Nullable HandleMetricBatch inFlight;
  private boolean signalled;

  PushedMetrics(Duration push) {
    ReportIntervals rhythm = new ReportIntervals(RECORD, push);
    pusher = new MetricsPusher("n1", 1, rhythm, rhythm, 960 << 10, clock);
    pusher.onSignal(() -> signalled = true);
  }

  /** Lets time pass, as the verticle's timers do. */
  void pass(Duration time) {
    for (long left = time.dividedBy(RECORD); left > 0; left--) {
      clock.advance(RECORD);
      pusher.sampleReplicas();
      push(pusher.tick());
    }
  }

  /** Runs what a signal asked for. */
  void run() {
    if (signalled) {
      signalled = false;
      push(pusher.signalBatch());
    }
  }

  /** Another controller follows, and knows nothing. */
  void follow() {
    reports = new HandleReports(Long.MAX_VALUE);
    queues.clear();
    term++;
  }

  private void push(@Nullable HandleMetricBatch batch) {
    if (batch != null) {
      inFlight = batch;
      if (!held) {
        settle();
      }
    }
  }

  /** What is in flight arrives, or is lost. */
  void settle() {
    HandleMetricBatch batch = inFlight;
    inFlight = null;
    if (batch == null) {
      return;
    }
    if (!away) {
      arrived.add(batch);
      reports.record(batch, clock.getAsLong());
      batch.handles().forEach(report -> queues.remove(report.deployment()));
      batch.queues().forEach(queue -> queues.put(queue.deployment(), queue.queued()));
    }
    pusher.onSettled(batch.sequence(), away ? -1 : term);
    push(pusher.signalBatch());
  }

  HandleMetricBatch last() {
    return arrived.get(arrived.size() - 1);
  }

  /** That wait, of one that does not autoscale too. */
  long queued(String name) {
    return load(name).queued() + queues.getOrDefault(new DeploymentId("app", name), 0);
  }

  DeploymentLoad load(String name) {
    return reports.load(new DeploymentId("app", name), clock.getAsLong());
  }
}

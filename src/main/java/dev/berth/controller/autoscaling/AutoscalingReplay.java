package dev.berth.controller.autoscaling;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Replays a recorded load under other autoscaling rules. Simulated replicas serve after a fixed
 * start time.
 *
 * <p>The load stays as recorded. Fewer replicas would have queued more requests, and more replicas
 * fewer. {@link ReplayResult#lateRequestSeconds} is the lower bound by the target of each replica.
 */
public final class AutoscalingReplay {

  /**
   * A load report of one instance.
   *
   * @param atMs time in milliseconds of a monotonic clock
   * @param source the instance
   * @param load mean of queued, running and reserved requests since its last report
   * @param reserved reserved part of the load
   * @param last whether the instance does not call the deployment, or has stopped calling it
   */
  public record LoadSample(long atMs, String source, double load, double reserved, boolean last) {}

  /** A change of the wanted and running replicas. */
  public record ReplicaCountPoint(long atMs, int wanted, int running) {}

  /**
   * The result of a replay.
   *
   * @param points number of replicas over time, at each change
   * @param replicaSeconds seconds of all replicas, from the request for each
   * @param secondsOverTarget seconds with a load above the target of all running replicas
   * @param lateRequestSeconds requests above that target, times seconds
   */
  public record ReplayResult(
      List<ReplicaCountPoint> points,
      double replicaSeconds,
      double secondsOverTarget,
      double lateRequestSeconds) {}

  private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

  private final ScalingRules rules;
  private final HandleReports reports;
  private final DeploymentAutoscaler scaling;
  private final long startNanos;
  private final List<ReplicaCountPoint> points = new ArrayList<>();
  private final ArrayDeque<Long> coming = new ArrayDeque<>(); // ready times of starting replicas
  private int running;
  private long now;
  private ScalingDecision last;
  private double replicaSeconds;
  private double secondsOver;
  private double lateSeconds;

  private AutoscalingReplay(
      ScalingRules rules, long silentNanos, long startNanos, int replicas, long begin) {
    this.rules = rules;
    this.reports = new HandleReports(silentNanos);
    this.scaling = new DeploymentAutoscaler(rules, reports, begin);
    this.startNanos = startNanos;
    this.running = replicas;
    this.now = begin;
    this.last = decide();
  }

  /**
   * Replays recorded reports.
   *
   * @param ticks in the order of their times
   * @param silentNanos see {@link HandleReports}
   * @param startNanos time from the request for a replica until it serves
   * @param replicas running at the begin
   */
  public static ReplayResult run(
      List<LoadSample> ticks, ScalingRules rules, long silentNanos, long startNanos, int replicas) {
    long begin = ticks.isEmpty() ? 0 : TimeUnit.MILLISECONDS.toNanos(ticks.get(0).atMs);
    AutoscalingReplay replay =
        new AutoscalingReplay(rules, silentNanos, startNanos, replicas, begin);
    ticks.forEach(replay::take);
    return new ReplayResult(
        List.copyOf(replay.points), replay.replicaSeconds, replay.secondsOver, replay.lateSeconds);
  }

  /** Advances time to a tick and decides wherever a decision is due. */
  private void take(LoadSample tick) {
    long until = TimeUnit.MILLISECONDS.toNanos(tick.atMs);
    while (now < until) {
      long next = coming.isEmpty() ? until : Math.min(until, coming.getFirst());
      pass(Math.min(next, last.wakeNanos()));
      last = decide();
    }
    reports.recordContact(tick.source, now);
    if (tick.last) {
      scaling.end(tick.source, now);
    } else {
      scaling.report(tick.source, tick.load, tick.reserved, now);
    }
    last = decide();
  }

  private void pass(long next) {
    double seconds = (next - now) / SECOND;
    double over = last.inputs().latest() - running * rules.target();
    replicaSeconds += seconds * last.replicas();
    secondsOver += over > 0 ? seconds : 0;
    lateSeconds += Math.max(0, over) * seconds;
    now = next;
    while (!coming.isEmpty() && coming.getFirst() <= now) {
      coming.removeFirst();
      running++;
    }
  }

  private ScalingDecision decide() {
    int there = running + coming.size();
    ScalingDecision decision =
        scaling.decide(ReplicaCounts.of(running, coming.size(), there), null, now);
    int wanted = decision.replicas();
    for (; there < wanted; there++) {
      coming.addLast(now + startNanos);
    }
    for (; there > wanted; there--) {
      running -= coming.pollLast() == null ? 1 : 0; // starting ones stop first
    }
    ReplicaCountPoint before = points.isEmpty() ? null : points.get(points.size() - 1);
    if (before == null || before.wanted != wanted || before.running != running) {
      points.add(new ReplicaCountPoint(TimeUnit.NANOSECONDS.toMillis(now), wanted, running));
    }
    return decision;
  }
}

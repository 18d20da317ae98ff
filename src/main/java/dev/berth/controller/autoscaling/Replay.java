package dev.berth.controller.autoscaling;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * What other rules would have made of a load that was recorded: the record is decided anew, with
 * replicas that run so long after they are asked for.
 *
 * <p>The load is taken as it was. With fewer replicas more would have waited, and with more less:
 * {@link Outcome#lateRequestSeconds} says how much at least, by what each replica is to have.
 */
public final class Replay {

  /**
   * One instance spoke.
   *
   * @param atMs when, in milliseconds of a clock that only rises
   * @param source the instance
   * @param load mean of what waited, ran and was reserved since it spoke before
   * @param reserved the part of it that was reserved
   * @param last whether the instance does not call the deployment, or no longer
   */
  public record Tick(long atMs, String source, double load, double reserved, boolean last) {}

  /** That there were so many replicas wanted, and so many running, from a time on. */
  public record Point(long atMs, int wanted, int running) {}

  /**
   * @param points the number of replicas over time, where it changed
   * @param replicaSeconds that were paid for, from when they were asked for
   * @param secondsOverTarget for which the load was more than the target of all that ran
   * @param lateRequestSeconds requests beyond that target, times seconds
   */
  public record Outcome(
      List<Point> points,
      double replicaSeconds,
      double secondsOverTarget,
      double lateRequestSeconds) {}

  private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

  private final ScalingRules rules;
  private final HandleReports reports;
  private final Scaling scaling;
  private final long startNanos;
  private final List<Point> points = new ArrayList<>();
  private final ArrayDeque<Long> coming = new ArrayDeque<>(); // when each that starts will run
  private int running;
  private long now;
  private ScalingDecision last;
  private double replicaSeconds;
  private double secondsOver;
  private double lateSeconds;

  private Replay(ScalingRules rules, long silentNanos, long startNanos, int replicas, long begin) {
    this.rules = rules;
    this.reports = new HandleReports(silentNanos);
    this.scaling = new Scaling(rules, reports, begin);
    this.startNanos = startNanos;
    this.running = replicas;
    this.now = begin;
    this.last = decide();
  }

  /**
   * @param ticks in the order of their times
   * @param silentNanos see {@link HandleReports}
   * @param startNanos from asking for a replica until it serves
   * @param replicas that run at the begin
   */
  public static Outcome run(
      List<Tick> ticks, ScalingRules rules, long silentNanos, long startNanos, int replicas) {
    long begin = ticks.isEmpty() ? 0 : TimeUnit.MILLISECONDS.toNanos(ticks.get(0).atMs);
    Replay replay = new Replay(rules, silentNanos, startNanos, replicas, begin);
    ticks.forEach(replay::take);
    return new Outcome(
        List.copyOf(replay.points), replay.replicaSeconds, replay.secondsOver, replay.lateSeconds);
  }

  /** Time goes on to a tick, with a look wherever one is due. */
  private void take(Tick tick) {
    long until = TimeUnit.MILLISECONDS.toNanos(tick.atMs);
    while (now < until) {
      long next = coming.isEmpty() ? until : Math.min(until, coming.getFirst());
      pass(Math.min(next, last.wakeNanos()));
      last = decide();
    }
    reports.heard(tick.source, now);
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
    ScalingDecision decision = scaling.decide(Fleet.of(running, coming.size(), there), null, now);
    int wanted = decision.replicas();
    for (; there < wanted; there++) {
      coming.addLast(now + startNanos);
    }
    for (; there > wanted; there--) {
      running -= coming.pollLast() == null ? 1 : 0; // what starts goes first
    }
    Point before = points.isEmpty() ? null : points.get(points.size() - 1);
    if (before == null || before.wanted != wanted || before.running != running) {
      points.add(new Point(TimeUnit.NANOSECONDS.toMillis(now), wanted, running));
    }
    return decision;
  }
}

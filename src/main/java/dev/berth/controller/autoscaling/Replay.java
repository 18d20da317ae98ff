package dev.berth.controller.autoscaling;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What other rules would have made of a load that was recorded: the record is decided anew, with
 * replicas that run so long after they are asked for.
 *
 * <p>The load is taken as it was. With fewer replicas more would have waited, and with more less:
 * {@link Outcome#lateRequestSeconds} says how much at least, by what each replica is to have.
 */
public final class Replay {

  /**
   * What was known at a time.
   *
   * @param nanos the time, on any clock that only rises
   * @param reports that came then
   * @param ended instances that said their last, or were lost
   */
  public record Tick(long nanos, List<Report> reports, List<String> ended) {
    public Tick {
      reports = List.copyOf(reports);
      ended = List.copyOf(ended);
    }
  }

  /**
   * One instance's part of a tick.
   *
   * @param source the instance
   * @param load mean of what waited, ran and was reserved since its last report
   * @param reserved the part of it that was reserved
   */
  public record Report(String source, double load, double reserved) {}

  /** That there were so many replicas wanted, and so many running, from a time on. */
  public record Point(long nanos, int wanted, int running) {}

  /**
   * @param points the number of replicas over time, where it changed
   * @param replicaSeconds that were paid for, from when they were asked for
   * @param secondsOverTarget for which the load was more than the target of all that ran
   * @param lateRequestSeconds requests beyond that target, times seconds
   * @param decisions the last {@link Scaling#MAX_DECISIONS}, the newest first
   */
  public record Outcome(
      List<Point> points,
      double replicaSeconds,
      double secondsOverTarget,
      double lateRequestSeconds,
      List<ScalingDecision> decisions) {}

  private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

  private final ScalingRules rules;
  private final Scaling scaling;
  private final long startNanos;
  private final List<Point> points = new ArrayList<>();
  private final List<Long> coming = new ArrayList<>(); // when each that starts will run
  private int running;
  private long now;
  private double replicaSeconds;
  private double secondsOver;
  private double lateSeconds;

  private Replay(ScalingRules rules, long silentNanos, long startNanos, int replicas, long begin) {
    this.rules = rules;
    this.scaling = new Scaling(rules, silentNanos, begin);
    this.startNanos = startNanos;
    this.running = replicas;
    this.now = begin;
  }

  /**
   * @param ticks in the order of their times
   * @param silentNanos see {@link Scaling}
   * @param startNanos from asking for a replica until it serves
   * @param replicas that run at the begin
   */
  public static Outcome run(
      List<Tick> ticks, ScalingRules rules, long silentNanos, long startNanos, int replicas) {
    long begin = ticks.isEmpty() ? 0 : ticks.get(0).nanos;
    return new Replay(rules, silentNanos, startNanos, replicas, begin).run(ticks);
  }

  private Outcome run(List<Tick> ticks) {
    decide();
    for (Tick tick : ticks) {
      pass(tick.nanos);
      tick.reports.forEach(
          report -> scaling.report(report.source, report.load, report.reserved, now));
      tick.ended.forEach(source -> scaling.end(source, now));
      decide();
    }
    return new Outcome(
        List.copyOf(points), replicaSeconds, secondsOver, lateSeconds, scaling.decisions());
  }

  /** Time goes on, with a look wherever one is due. */
  private void pass(long until) {
    while (until - now > 0) {
      ScalingDecision last = scaling.last();
      long next = until;
      if (last != null && last.wakeNanos() != Long.MAX_VALUE && last.wakeNanos() - next < 0) {
        next = last.wakeNanos();
      }
      if (!coming.isEmpty() && coming.get(0) - next < 0) {
        next = coming.get(0);
      }
      count(next - now, last);
      now = next;
      while (!coming.isEmpty() && coming.get(0) - now <= 0) {
        coming.remove(0);
        running++;
      }
      decide();
    }
  }

  private void count(long nanos, @Nullable ScalingDecision last) {
    double seconds = nanos / SECOND;
    replicaSeconds += seconds * (running + coming.size());
    double over = (last == null ? 0 : last.inputs().latest()) - running * rules.target();
    secondsOver += over > 0 ? seconds : 0;
    lateSeconds += Math.max(0, over) * seconds;
  }

  private void decide() {
    Fleet fleet = Fleet.of(running, coming.size(), running + coming.size());
    int wanted = scaling.decide(fleet, null, now).replicas();
    for (int more = fleet.target(); more < wanted; more++) {
      coming.add(now + startNanos);
    }
    for (int fewer = fleet.target(); fewer > wanted; fewer--) {
      if (coming.isEmpty()) {
        running--;
      } else {
        coming.remove(coming.size() - 1); // what starts goes first
      }
    }
    Point last = points.isEmpty() ? null : points.get(points.size() - 1);
    if (last == null || last.wanted != wanted || last.running != running) {
      points.add(new Point(now, wanted, running));
    }
  }
}

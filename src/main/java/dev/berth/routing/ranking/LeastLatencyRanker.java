package dev.berth.routing.ranking;

import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * Prefers the replica with the lower product of latency and requests, of two drawn at random;
 * nearest tier first. The latency is a moving average that follows a rise at once and a fall
 * slowly. It also decays with time, so that a replica that was slow is tried again. The latency is
 * that of the first byte: the head of a response.
 *
 * <p>Source: Finagle's and Linkerd's peak EWMA, with their decay of 10 s and Linkerd's 1 ms for a
 * replica without a reply so far.
 */
public final class LeastLatencyRanker extends TieredRanker {
  private final double decayNanos;
  private final double firstNanos;
  private final LongSupplier nanoClock;

  /**
   * @param decayNanos time after which an observation counts for a third (1/e); default 10 s
   * @param firstNanos latency of a replica without a reply so far; default 1 ms
   */
  public LeastLatencyRanker(
      LocalityTiers tiers, double decayNanos, double firstNanos, LongSupplier nanoClock) {
    super("least_latency", tiers);
    this.decayNanos = decayNanos;
    this.firstNanos = firstNanos;
    this.nanoClock = nanoClock;
  }

  @Override
  public Listener joined(String replicaId) {
    return new ReplicaLatency(nanoClock.getAsLong());
  }

  /**
   * Latency of one replica. Two replies at the same moment may count once: the value is an estimate
   * and does not justify a lock.
   */
  private final class ReplicaLatency implements Listener {
    private volatile long atNanos;
    private volatile double nanos = firstNanos;

    ReplicaLatency(long nowNanos) {
      this.atNanos = nowNanos;
    }

    @Override
    public void answered(long tookNanos, long nowNanos) {
      double before = nanos;
      double weight = Math.exp(-Math.max(0, nowNanos - atNanos) / decayNanos);
      nanos = tookNanos > before ? tookNanos : before * weight + tookNanos * (1 - weight);
      atNanos = nowNanos;
    }

    double at(long nowNanos) {
      return nanos * Math.exp(-Math.max(0, nowNanos - atNanos) / decayNanos);
    }
  }

  @Override
  void choose(Candidates candidates, int[] tier, int near, RandomGenerator random, Ranking into) {
    int size = tier.length;
    long now = nanoClock.getAsLong();
    int first = random.nextInt(size);
    int a = tier[first];
    int b = tier[second(size, first, random)];
    double costA = cost(candidates, a, now);
    double costB = cost(candidates, b, now);
    boolean nearFirst = near >= 0 && cost(candidates, near, now) <= Math.min(costA, costB);
    add(into, near, nearFirst, costB < costA ? b : a, costB < costA ? a : b);
  }

  /** Returns the estimated nanoseconds of its requests and one more; a full replica comes last. */
  private double cost(Candidates candidates, int index, long now) {
    Listener told = candidates.listener(index); // another ranker's during a change
    double latency = told instanceof ReplicaLatency known ? known.at(now) : firstNanos;
    int ongoing = candidates.ongoing(index);
    double cost = latency * (ongoing + 1);
    return ongoing < candidates.maxOngoing(index) ? cost : cost + Long.MAX_VALUE;
  }

  @Override
  public double score(Candidates candidates, int index) {
    return cost(candidates, index, nanoClock.getAsLong());
  }
}

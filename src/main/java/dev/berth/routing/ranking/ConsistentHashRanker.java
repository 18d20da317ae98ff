package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker;
import java.util.random.RandomGenerator;

/**
 * Requests of one key go to one replica, and when that is full to the next ones round the ring; one
 * without a key goes anywhere. A replica that joins or leaves moves its own share of the keys and
 * no other. With a load factor nobody gets more than so many times the mean of what all have: its
 * keys go on to the next that has less.
 *
 * <p>Beyond those that are ranked any free slot will do, where Ray Serve lets a request wait for
 * one of the few: a slot is never idle beside a waiter.
 *
 * <p>Sources: Ray Serve's ConsistentHashRouter; Mirrokni 2016, consistent hashing with bounded
 * loads.
 */
public final class ConsistentHashRanker implements ReplicaRanker {
  /** Replicas whose requests are added up for the mean; of more, so many drawn at random. */
  private static final int MOST_COUNTED = 128;

  /** Points that are passed in search of one below the bound. */
  private static final int MOST_PASSED = 1_024;

  private final int pointsEach;
  private final int ranked;
  private final double loadFactor;
  private HashRing ring = HashRing.EMPTY; // of the first one the last ring, and guarded by it

  /**
   * @param pointsEach of a replica on the ring; default 100, as in Ray Serve
   * @param fallbacks that follow the first in the order, 0 to 7; default 2, as in Ray Serve
   * @param loadFactor 1 or more; 0 for no bound, which is the default
   */
  public ConsistentHashRanker(int pointsEach, int fallbacks, double loadFactor) {
    this.pointsEach = pointsEach;
    this.ranked = 1 + fallbacks;
    this.loadFactor = loadFactor;
  }

  @Override
  public synchronized ReplicaRanker over(Candidates replicas) {
    ring = ring.over(replicas, pointsEach);
    ConsistentHashRanker over = new ConsistentHashRanker(pointsEach, ranked - 1, loadFactor);
    over.ring = ring;
    return over;
  }

  @Override
  public String name() {
    return "consistent_hash";
  }

  @Override
  public void rank(Candidates candidates, Asker asker, RandomGenerator random, Ranking ranking) {
    int points = ring.size();
    if (points == 0) {
      return;
    }
    long key = asker.key();
    int at = ring.after(key == Asker.NO_KEY ? random.nextLong() : key);
    int wanted = Math.min(ranked, candidates.size());
    double bound = loadFactor == 0 ? Double.MAX_VALUE : 0; // 0: not counted yet
    int most = loadFactor == 0 ? points : Math.min(points, MOST_PASSED);
    for (int passed = 0; passed < most && ranking.size() < wanted; passed++) {
      int owner = ring.ownerAt(at);
      int ongoing = loadFactor == 0 ? 0 : candidates.ongoing(owner);
      if (ongoing > 0 && bound == 0) {
        bound = bound(candidates, random);
      }
      if (ongoing == 0 || ongoing < Math.min(bound, candidates.maxOngoing(owner))) {
        ranking.add(owner);
      }
      at = at + 1 == points ? 0 : at + 1;
    }
  }

  /** The most that one may have with the request that is asked for. */
  private double bound(Candidates candidates, RandomGenerator random) {
    int size = candidates.size();
    int counted = Math.min(size, MOST_COUNTED);
    long sum = 0;
    int index = random.nextInt(size);
    for (int i = 0; i < counted; i++) {
      sum += candidates.ongoing(index);
      index = (index + size / counted) % size;
    }
    double all = (double) sum * size / counted;
    return Math.ceil(loadFactor * (all + 1) / size);
  }
}

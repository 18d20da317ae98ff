package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker;
import java.util.random.RandomGenerator;

/**
 * Consistent hashing: requests with one key go to one replica, and to the next ones on the ring
 * when that is full. A request without a key goes to a random point. A replica that joins or leaves
 * moves its own share of the keys and no other. With a load factor, no replica receives more than
 * that multiple of the mean load of all: its keys go on to the next replica below the bound.
 *
 * <p>Beyond the ranked replicas, any free slot is used, whereas Ray Serve lets a request wait for a
 * slot of the few. Thus no slot is idle beside a waiter.
 *
 * <p>Sources: Ray Serve's ConsistentHashRouter; Mirrokni 2016, consistent hashing with bounded
 * loads.
 */
public final class ConsistentHashRanker implements ReplicaRanker {
  /** Maximum replicas read for the mean; a larger set is sampled evenly from a random start. */
  private static final int MAX_SAMPLED_REPLICAS = 128;

  /** Maximum points passed in search of a replica below the bound. */
  private static final int MAX_POINTS_PASSED = 1_024;

  private final int pointsEach;
  private final int ranked;
  private final double loadFactor;
  private HashRing ring = HashRing.EMPTY; // in the first instance the last ring, guarded by this

  /**
   * @param pointsEach points of a replica on the ring; default 100, as in Ray Serve
   * @param fallbacks replicas ranked after the first, 0 to 7; default 2, as in Ray Serve
   * @param loadFactor multiple of the mean load, 1 or more; 0, the default, for no bound
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
    double bound = loadFactor == 0 ? Double.MAX_VALUE : 0; // 0: not computed yet
    int most = loadFactor == 0 ? points : Math.min(points, MAX_POINTS_PASSED);
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

  /** Returns the maximum load of one replica, counting the current request. */
  private double bound(Candidates candidates, RandomGenerator random) {
    int size = candidates.size();
    int counted = Math.min(size, MAX_SAMPLED_REPLICAS);
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

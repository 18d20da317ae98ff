package dev.berth.api.spi;

import java.util.random.RandomGenerator;

/**
 * Says in which order the router should try the replicas of a deployment. The router takes a slot
 * of the first that grants one, and when every ranked one refuses it tries the rest itself: ranking
 * decides who is better, never who is possible.
 *
 * <p>Called on the hot path by many threads at once: implementations are thread-safe and allocate
 * nothing.
 */
@FunctionalInterface
public interface ReplicaRanker {

  /**
   * Writes the preferred candidates, best first, by their index; may leave {@code ranking} empty.
   */
  void rank(Candidates candidates, RandomGenerator random, Ranking ranking);

  /** What it is called in the records of explained requests. */
  default String name() {
    return getClass().getSimpleName();
  }

  /**
   * What it compares of a candidate, less being better; NaN, which is the default, when that is no
   * number. Asked for requests that are explained only.
   */
  default double score(Candidates candidates, int index) {
    return Double.NaN;
  }

  /** The routable replicas as one caller sees them: a view over an immutable snapshot. */
  interface Candidates {
    /** How many there are; indices run from 0. */
    int size();

    /** Requests running or reserved there: exact on this instance, an estimate elsewhere. */
    int ongoing(int index);

    /** Slots there: {@code max_ongoing_requests}. */
    int maxOngoing(int index);

    /** Indices of a tier, each tier containing the one before it. */
    int[] within(Tier tier);
  }

  /** How far a replica is from the caller; nearer first. */
  enum Tier {
    /** Served by the caller's event loop. */
    SAME_LOOP,
    /** In the caller's instance. */
    SAME_NODE,
    /** In the caller's availability zone. */
    SAME_ZONE,
    /** Anywhere. */
    ANY
  }

  /** An order being written: a reusable list of indices, bounded by its capacity. */
  final class Ranking {
    /** Ranked candidates a router tries before it scans: two per tier, and the same-loop one. */
    public static final int CAPACITY = 8;

    private final int[] indices = new int[CAPACITY];
    private int size;

    /** Appends an index; ignored when full or already present. */
    public void add(int index) {
      if (size == CAPACITY) {
        return;
      }
      for (int i = 0; i < size; i++) {
        if (indices[i] == index) {
          return;
        }
      }
      indices[size++] = index;
    }

    /** How many were added. */
    public int size() {
      return size;
    }

    /** The index at a place from 0, the best first. */
    public int get(int place) {
      return indices[place];
    }

    /** Forgets them all. */
    public void clear() {
      size = 0;
    }
  }
}

package dev.berth.api.spi;

import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Policy that orders the replicas of a deployment for the router. The router acquires a slot of the
 * first candidate that grants one. When every ranked candidate refuses, the router tries the
 * remaining replicas itself. A ranking expresses preference; it never excludes a replica.
 *
 * <p><b>Declaration.</b> {@code request_router_config.request_router_class} names a class of the
 * application's code. One object is created per deployment, by a constructor that accepts the map
 * of {@code request_router_kwargs} or by one without parameters.
 *
 * <p><b>Concurrency.</b> Called on the hot path, on event loops, by many threads at once.
 * Implementations must be thread-safe, must never block, and should not allocate. Work per replica,
 * such as a look-up by name, belongs in {@link #over}, which is called when the replicas change and
 * not for each request.
 *
 * <p><b>Failure.</b> An exception or an invalid index affects speed only: the router then uses
 * power of two choices for that decision, and counts the failure.
 *
 * <p>Source: Ray Serve's RequestRouter, its choose_replicas and initialize_state.
 */
@FunctionalInterface
public interface ReplicaRanker {

  /**
   * Writes the preferred candidates, best first, by their index; may leave {@code ranking} empty.
   *
   * @param asker the request that needs a slot
   * @param random confined to the caller
   */
  void rank(Candidates candidates, Asker asker, RandomGenerator random, Ranking ranking);

  /**
   * Returns the ranker to use for these replicas from now on, with their indices; by default this
   * object. State that must survive a change of the replicas belongs in the object that receives
   * these calls, which is always the first one. One call runs at a time, while other threads may
   * still rank the previous replicas.
   *
   * @param replicas as the first event loop sees them
   */
  default ReplicaRanker over(Candidates replicas) {
    return this;
  }

  /**
   * Returns the listener for the responses of a new replica, used as long as the replica exists.
   * Null by default, which also avoids clock reads.
   */
  default @Nullable Listener joined(String replicaId) {
    return null;
  }

  /** Returns the name of this ranker in the records of explained requests. */
  default String name() {
    return getClass().getSimpleName();
  }

  /**
   * Returns the score of a candidate, lower being better; NaN, the default, when the ranker
   * compares no number. Called only for explained requests.
   */
  default double score(Candidates candidates, int index) {
    return Double.NaN;
  }

  /** The request that needs a slot. */
  @FunctionalInterface
  interface Asker {
    /** Key of a request without affinity. */
    long NO_KEY = 0;

    /**
     * Returns a key that is equal for requests with affinity to the same replica, spread evenly
     * over all 64 bits. The key is a hash of the session id or of the shard key; {@link #NO_KEY}
     * when absent.
     */
    long key();
  }

  /** The routable replicas as seen by one caller: a view of an immutable snapshot. */
  interface Candidates {
    /** Returns the number of candidates; indices start at 0. */
    int size();

    /** Returns the replica's id, unique in its deployment and never reused. */
    String replicaId(int index);

    /** Returns the listener that {@link ReplicaRanker#joined} returned for the replica. */
    @Nullable Listener listener(int index);

    /**
     * Returns the number of requests running or reserved at the replica: exact on this instance, an
     * estimate elsewhere.
     */
    int ongoing(int index);

    /** Returns the number of slots of the replica: {@code max_ongoing_requests}. */
    int maxOngoing(int index);

    /**
     * Returns the indices of a tier; each tier contains the previous one. The array must not be
     * modified.
     */
    int[] within(Tier tier);
  }

  /** Listener for the responses of one replica. Called on any event loop, concurrently. */
  @FunctionalInterface
  interface Listener {
    /**
     * Notifies of the head of a response, a failure, or the caller's timeout.
     *
     * @param tookNanos time since the request was sent to the replica, in nanoseconds
     * @param nowNanos current time in nanoseconds by the instance's clock
     */
    void answered(long tookNanos, long nowNanos);
  }

  /** Distance of a replica from the caller, nearest first. */
  enum Tier {
    /** The caller's event loop. */
    SAME_LOOP,
    /** The caller's instance. */
    SAME_NODE,
    /** The caller's availability zone. */
    SAME_ZONE,
    /** All replicas. */
    ANY
  }

  /** A ranking under construction: a reusable list of indices with a fixed capacity. */
  final class Ranking {
    /**
     * Maximum number of candidates a router tries before it scans: two per tier, and the same-loop
     * one.
     */
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

    /** Returns the number of indices. */
    public int size() {
      return size;
    }

    /** Returns the index at a position from 0, the best first. */
    public int get(int place) {
      return indices[place];
    }

    /** Removes all indices. */
    public void clear() {
      size = 0;
    }
  }
}

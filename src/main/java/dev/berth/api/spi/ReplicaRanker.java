package dev.berth.api.spi;

import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Says in which order the router should try the replicas of a deployment. The router takes a slot
 * of the first that grants one, and when every ranked one refuses it tries the rest itself: ranking
 * decides who is better, never who is possible.
 *
 * <p>Named by {@code request_router_config.request_router_class}, a class of the application's code
 * is made once for a deployment, by a constructor that takes the map of {@code
 * request_router_kwargs} or by one that takes nothing. What it throws, and an index that is none,
 * costs speed only: that decision is made by power of two choices, and counted.
 *
 * <p>Called on the hot path, on event loops, by many threads at once: implementations are
 * thread-safe, never block, and do well to allocate nothing. What is looked up by a replica's name
 * is looked up in {@link #over}, which is called when the replicas change and not for each request.
 *
 * <p>Source: Ray Serve's RequestRouter, its choose_replicas and initialize_state.
 */
@FunctionalInterface
public interface ReplicaRanker {

  /**
   * Writes the preferred candidates, best first, by their index; may leave {@code ranking} empty.
   *
   * @param asker who is to get the slot
   * @param random of the caller alone
   */
  void rank(Candidates candidates, Asker asker, RandomGenerator random, Ranking ranking);

  /**
   * Who ranks these replicas from now on, by the index that they have here; itself by default. What
   * it keeps beyond a change of the replicas stays with the one that is asked, which is always the
   * first. One call at a time, while others may still rank those before.
   *
   * @param replicas as the first event loop sees them
   */
  default ReplicaRanker over(Candidates replicas) {
    return this;
  }

  /**
   * A replica joined: who is told of its answers, for as long as it is there. Nobody by default,
   * and then no clock is read.
   */
  default @Nullable Listener joined(String replicaId) {
    return null;
  }

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

  /** Who wants a slot. */
  @FunctionalInterface
  interface Asker {
    /** Nothing says which requests belong together. */
    long NO_KEY = 0;

    /**
     * Equal for requests that should meet the same replica, spread evenly over all 64 bits: a hash
     * of the session's id, or of the shard key. {@link #NO_KEY} when there is none.
     */
    long key();
  }

  /** The routable replicas as one caller sees them: a view over an immutable snapshot. */
  interface Candidates {
    /** How many there are; indices run from 0. */
    int size();

    /** Unique in its deployment, and never another's later. */
    String replicaId(int index);

    /** What {@link ReplicaRanker#joined} gave for it. */
    @Nullable Listener listener(int index);

    /** Requests running or reserved there: exact on this instance, an estimate elsewhere. */
    int ongoing(int index);

    /** Slots there: {@code max_ongoing_requests}. */
    int maxOngoing(int index);

    /** Indices of a tier, each tier containing the one before it. Not to be written to. */
    int[] within(Tier tier);
  }

  /** Told of one replica's answers; any event loop, several at once. */
  @FunctionalInterface
  interface Listener {
    /**
     * The head of a response, a failure, or the end of the caller's patience.
     *
     * @param tookNanos since the request was sent there
     * @param nowNanos now, on the instance's clock
     */
    void answered(long tookNanos, long nowNanos);
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

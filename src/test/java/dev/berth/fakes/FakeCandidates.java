package dev.berth.fakes;

import dev.berth.api.spi.ReplicaRanker;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Replicas as a ranker sees them, as a test says. */
public final class FakeCandidates implements ReplicaRanker.Candidates {
  private final String[] ids;
  private final ReplicaRanker.Listener[] listeners;
  private final int[] any;

  /** Requests of each, by index. */
  public final int[] loads;

  /** Slots of each. */
  public int max = Integer.MAX_VALUE;

  /** Slots of each by index, in place of {@link #max}. */
  public int @Nullable [] maxima;

  /** The caller's event loop, by index; then its instance and its zone. */
  public int[] loop = {};

  public int[] node = {};
  public int[] zone = {};

  /** So many, {@code r0} and on, each without a request. */
  public FakeCandidates(int size) {
    this(IntStream.range(0, size).mapToObj(i -> "r" + i).toArray(String[]::new));
  }

  public FakeCandidates(String... ids) {
    this.ids = ids;
    this.loads = new int[ids.length];
    this.listeners = new ReplicaRanker.Listener[ids.length];
    this.any = IntStream.range(0, ids.length).toArray();
  }

  /** Of these loads. */
  public static FakeCandidates of(int max, int... loads) {
    FakeCandidates made = new FakeCandidates(loads.length);
    System.arraycopy(loads, 0, made.loads, 0, loads.length);
    made.max = max;
    return made;
  }

  /** Those of them that are not called so, with their loads and listeners. */
  public FakeCandidates without(String id) {
    FakeCandidates less =
        new FakeCandidates(
            Arrays.stream(ids).filter(each -> !each.equals(id)).toArray(String[]::new));
    less.max = max;
    for (int i = 0, j = 0; i < ids.length; i++) {
      if (!ids[i].equals(id)) {
        less.loads[j] = loads[i];
        less.listeners[j++] = listeners[i];
      }
    }
    return less;
  }

  /** Has all of them join a ranker, which then ranks them. */
  public ReplicaRanker rankedBy(ReplicaRanker ranker) {
    for (int i = 0; i < ids.length; i++) {
      listeners[i] = ranker.joined(ids[i]);
    }
    return ranker.over(this);
  }

  /** Whom a ranker of these ranks for a key, the best first. */
  public List<Integer> ranked(ReplicaRanker over, long key, RandomGenerator random) {
    ReplicaRanker.Ranking ranking = new ReplicaRanker.Ranking();
    over.rank(this, () -> key, random, ranking);
    return IntStream.range(0, ranking.size()).mapToObj(ranking::get).toList();
  }

  /** The best of them for who has no key; -1 where none is ranked. */
  public int first(ReplicaRanker over, RandomGenerator random) {
    List<Integer> ranked = ranked(over, ReplicaRanker.Asker.NO_KEY, random);
    return ranked.isEmpty() ? -1 : ranked.get(0);
  }

  @Override
  public int size() {
    return ids.length;
  }

  @Override
  public String replicaId(int index) {
    return ids[index];
  }

  @Override
  public ReplicaRanker.@Nullable Listener listener(int index) {
    return listeners[index];
  }

  @Override
  public int ongoing(int index) {
    return loads[index];
  }

  @Override
  public int maxOngoing(int index) {
    return maxima == null ? max : maxima[index];
  }

  @Override
  public int[] within(ReplicaRanker.Tier tier) {
    return switch (tier) {
      case SAME_LOOP -> loop;
      case SAME_NODE -> node;
      case SAME_ZONE -> zone;
      case ANY -> any;
    };
  }
}

package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;

/**
 * Round robin: each replica in turn. A decision searches one round at most, from the place after
 * the last one. A full replica is skipped and loses its turn, a removed one drops out, and a new
 * one comes last. All event loops share the turn, which survives every change of the replicas.
 *
 * <p>Source: the worker queues of Ray Serve's first router, which rotate.
 */
public final class RoundRobinRanker implements ReplicaRanker {
  /** Replicas ranked after the chosen one, in case another loop takes its last slot. */
  private static final int MORE = 2;

  private final List<String> ids; // in turn order
  private final int[] indices; // in turn order
  private final AtomicInteger turn = new AtomicInteger(); // place in that order
  private RoundRobinRanker last = this; // in the first instance the latest one; guarded by this

  /** Creates a ranker without replicas. */
  public RoundRobinRanker() {
    this(List.of(), new int[0]);
  }

  private RoundRobinRanker(List<String> ids, int[] indices) {
    this.ids = ids;
    this.indices = indices;
  }

  @Override
  public synchronized ReplicaRanker over(Candidates replicas) {
    last = last.succeededBy(replicas);
    return last;
  }

  private RoundRobinRanker succeededBy(Candidates replicas) {
    Map<String, Integer> byId = new LinkedHashMap<>();
    for (int index = 0; index < replicas.size(); index++) {
      byId.put(replicas.replicaId(index), index);
    }
    Set<String> order = new LinkedHashSet<>();
    int from = turn.get();
    order.addAll(ids.subList(from, ids.size()));
    order.addAll(ids.subList(0, from));
    order.retainAll(byId.keySet());
    order.addAll(byId.keySet());
    return new RoundRobinRanker(List.copyOf(order), order.stream().mapToInt(byId::get).toArray());
  }

  @Override
  public String name() {
    return "round_robin";
  }

  @Override
  public void rank(Candidates candidates, Asker asker, RandomGenerator random, Ranking ranking) {
    int place;
    int from;
    do {
      from = turn.get();
      place = firstFree(candidates, from);
      if (place < 0) {
        return;
      }
    } while (!turn.compareAndSet(from, after(place)));
    for (int more = 0; more <= MORE; more++) {
      ranking.add(indices[place]);
      place = after(place);
    }
  }

  private int firstFree(Candidates candidates, int from) {
    int place = from;
    for (int looked = 0; looked < indices.length; looked++) {
      int index = indices[place];
      if (candidates.ongoing(index) < candidates.maxOngoing(index)) {
        return place;
      }
      place = after(place);
    }
    return -1;
  }

  private int after(int place) {
    return place + 1 == indices.length ? 0 : place + 1;
  }

  /** Returns the number of turns until the replica's turn. */
  @Override
  public double score(Candidates candidates, int index) {
    int place = 0;
    while (indices[place] != index) {
      place++;
    }
    return Math.floorMod(place - turn.get(), indices.length);
  }
}

package dev.berth.routing.ranking;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.fakes.FakeCandidates;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RoundRobinRankerTest {
  private final SplittableRandom random = new SplittableRandom(11);
  private final ReplicaRanker root = new RoundRobinRanker();

  /** The one whose turn it is; "" when all are full. */
  private String next(ReplicaRanker over, FakeCandidates replicas) {
    List<Integer> ranked = replicas.ranked(over, 0, random);
    assertThat(ranked).hasSizeLessThanOrEqualTo(Math.min(3, replicas.size()));
    return ranked.isEmpty() ? "" : replicas.replicaId(ranked.get(0));
  }

  private List<String> next(ReplicaRanker over, FakeCandidates replicas, int times) {
    return IntStream.range(0, times).mapToObj(i -> next(over, replicas)).toList();
  }

  @Test
  void eachHasItsTurn() {
    FakeCandidates three = new FakeCandidates(3);
    assertThat(next(three.rankedBy(root), three, 7))
        .containsExactly("r0", "r1", "r2", "r0", "r1", "r2", "r0");
  }

  @Test
  void whoIsFullIsPassedOverAndHasLostItsTurn() {
    FakeCandidates three = FakeCandidates.of(1, 0, 1, 0);
    ReplicaRanker over = three.rankedBy(root);
    assertThat(next(over, three, 3)).containsExactly("r0", "r2", "r0");
    three.loads[1] = 0;
    assertThat(next(over, three, 2)).containsExactly("r1", "r2");
    three.loads[0] = three.loads[1] = three.loads[2] = 1;
    assertThat(next(over, three)).as("all are full").isEmpty();
    three.loads[0] = 0;
    assertThat(next(over, three)).isEqualTo("r0");
  }

  @Test
  void theOrderStaysWhenOneLeavesAndWhoJoinsComesLast() {
    FakeCandidates four = new FakeCandidates(4);
    ReplicaRanker over = four.rankedBy(root);
    assertThat(next(over, four, 2)).containsExactly("r0", "r1");
    FakeCandidates less = four.without("r2");
    over = less.rankedBy(root);
    assertThat(next(over, less, 1)).containsExactly("r3");
    FakeCandidates more = new FakeCandidates("r9", "r3", "r1", "r0");
    over = more.rankedBy(root);
    assertThat(next(over, more, 5)).containsExactly("r0", "r1", "r3", "r9", "r0");
  }

  /** The worker queue of Ray Serve's first router: taken from one end, put back at the other. */
  @Test
  void itIsTheRotatingQueueOfWorkers() {
    ArrayDeque<String> workers = new ArrayDeque<>();
    Map<String, Integer> loads = new HashMap<>();
    FakeCandidates replicas = new FakeCandidates();
    ReplicaRanker over = replicas.rankedBy(root);
    int joined = 0;
    for (int step = 0; step < 5_000; step++) {
      int what = random.nextInt(20);
      List<String> known = new ArrayList<>(loads.keySet());
      if (what == 0 && known.size() < 9) {
        known.add("w" + joined);
        workers.add("w" + joined);
        loads.put("w" + joined++, 0);
      } else if (what == 1 && !known.isEmpty()) {
        String gone = known.remove(random.nextInt(known.size()));
        workers.remove(gone);
        loads.remove(gone);
      } else if (what < 10 && !known.isEmpty()) {
        String done = known.get(random.nextInt(known.size()));
        loads.merge(done, 0, (load, none) -> Math.max(0, load - 1));
      }
      if (what < 2) {
        replicas = new FakeCandidates(known.toArray(String[]::new));
        replicas.max = 2;
        over = replicas.rankedBy(root);
      }
      for (int i = 0; i < replicas.size(); i++) {
        replicas.loads[i] = loads.get(replicas.replicaId(i));
      }
      String expected = "";
      for (int visited = 0, all = workers.size(); visited < all && expected.isEmpty(); visited++) {
        String worker = workers.remove();
        workers.add(worker);
        expected = loads.get(worker) < 2 ? worker : "";
      }
      assertThat(next(over, replicas)).as("step %d", step).isEqualTo(expected);
      loads.computeIfPresent(expected, (worker, load) -> load + 1);
    }
    assertThat(joined).isGreaterThan(50);
  }
}

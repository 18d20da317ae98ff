package dev.berth.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.LoopThreads;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Streams of three loops around one ledger that is nearly full. Looked at whenever all loops rest:
 * nobody waits beside room for it, and what is held is what the streams have under way.
 */
@Tag("concurrency")
class StreamLedgerStressTest {
  private static final int LOOPS = 3;
  private static final int ROUNDS = 400;
  private static final int STREAMS = 6; // of a loop, at most
  private static final long BOUND = 100 << 10;

  private final StreamMemoryBudget ledger = new StreamMemoryBudget(BOUND);

  @Test
  void nobodyWaitsBesideRoomAndNothingIsForgotten() throws Exception {
    long seed = new SplittableRandom().nextLong();
    try (LoopThreads loops = new LoopThreads(LOOPS)) {
      List<List<StreamWindow>> open = new ArrayList<>();
      List<SplittableRandom> randoms = new ArrayList<>();
      for (int i = 0; i < LOOPS; i++) {
        open.add(new ArrayList<>());
        randoms.add(new SplittableRandom(seed + i));
      }
      for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LOOPS; i++) {
          int loop = i;
          loops.loop(i).execute(() -> step(loops.loop(loop), open.get(loop), randoms.get(loop)));
        }
        rest(loops);
        long underWay = open.stream().flatMap(List::stream).mapToLong(StreamWindow::underWay).sum();
        assertThat(ledger.bytes()).as("seed %d round %d", seed, round).isEqualTo(underWay);
        if (ledger.waiting() > 0) {
          assertThat(ledger.bytes())
              .as("seed %d round %d: someone waits", seed, round)
              .isGreaterThan(BOUND - 2 * StreamMemoryBudget.FIRST_BYTES);
        }
      }
      for (int i = 0; i < LOOPS; i++) {
        List<StreamWindow> mine = open.get(i);
        loops.loop(i).execute(() -> mine.forEach(StreamWindow::close));
      }
      rest(loops);
      loops.rethrow();
    }
    assertThat(ledger.bytes()).as("seed %d", seed).isZero();
    assertThat(ledger.needed()).isZero();
    assertThat(ledger.waiting()).isZero();
    assertThat(ledger.waits.sum()).as("seed %d: some waited", seed).isPositive();
  }

  @Test
  void aGrantThatIsAskedForAsTheLastRoomIsGivenBackIsNotForgotten() throws Exception {
    try (LoopThreads loops = new LoopThreads(LOOPS)) {
      for (int round = 0; round < 600; round++) {
        List<StreamMemoryBudget> full = new ArrayList<>();
        List<StreamWindow> asking = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
          StreamMemoryBudget each = new StreamMemoryBudget(BOUND);
          each.hold(BOUND);
          full.add(each);
          asking.add(new StreamWindow(each, 2 << 14, 0, loops.loop(0), limit -> {}));
        }
        loops.loop(0).execute(() -> asking.forEach(StreamWindow::renew));
        loops.loop(1).execute(() -> full.forEach(each -> each.release(BOUND)));
        rest(loops);
        assertThat(full).as("round %d", round).allMatch(each -> each.waiting() == 0);
      }
      loops.rethrow();
    }
  }

  private void step(LoopThreads.Loop loop, List<StreamWindow> mine, SplittableRandom random) {
    for (int i = 0; i < 50; i++) {
      int drawn = random.nextInt(10);
      if (drawn < 2 && mine.size() < STREAMS) {
        StreamWindow made = new StreamWindow(ledger, 2 << 14, 0, loop, limit -> {});
        mine.add(made);
        made.renew();
      } else if (!mine.isEmpty()) {
        StreamWindow one = mine.get(random.nextInt(mine.size()));
        if (drawn == 9) {
          mine.remove(one);
          one.close();
        } else if (one.underWay() > 0) {
          one.onConsumed(1 + random.nextInt((int) one.underWay()));
        }
      }
    }
  }

  /**
   * A grant of one loop may be on its way to another, and one that finds its stream closed there
   * gives its room to the next: so once round for each stream, and twice for those that are open.
   */
  private static void rest(LoopThreads loops) throws Exception {
    for (int turn = 0; turn < 2 + LOOPS * STREAMS; turn++) {
      for (int i = 0; i < LOOPS; i++) {
        CompletableFuture<Void> ran = new CompletableFuture<>();
        loops.loop(i).execute(() -> ran.complete(null));
        ran.get(10, TimeUnit.SECONDS);
      }
    }
  }
}

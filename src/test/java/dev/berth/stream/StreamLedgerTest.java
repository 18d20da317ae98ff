package dev.berth.stream;

import static dev.berth.stream.StreamMemoryBudget.FIRST_BYTES;
import static dev.berth.stream.StreamMemoryBudget.MIN_WINDOW_BYTES;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.QueueExecutor;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** What answers hold together: who is granted what, who waits, and that nothing is forgotten. */
class StreamLedgerTest {
  private static final int MOST = 64 << 10;
  private static final long BOUND = 256 << 10;

  private final StreamMemoryBudget ledger = new StreamMemoryBudget(BOUND);
  private final QueueExecutor tasks = new QueueExecutor();

  /**
   * A stream whose writer has all it is granted sent, and whose reader takes what it is told to.
   */
  private final class Stream {
    final List<Long> limits = new ArrayList<>();
    final StreamWindow window;
    long sent;

    Stream(int first) {
      window = new StreamWindow(ledger, MOST, first, tasks, limits::add);
      sent = first;
      window.renew();
      pass();
    }

    void take(int bytes) {
      window.onConsumed(bytes);
      pass();
    }

    private void pass() {
      tasks.runAll();
      sent = limits.isEmpty() ? sent : limits.get(limits.size() - 1);
    }

    void takeAll() {
      while (window.underWay() > 0) {
        take((int) Math.min(window.underWay(), 1_000));
        if (window.underWay() >= MOST / 2) {
          return; // it would go on for ever
        }
      }
    }
  }

  @Test
  void aWindowDoublesEachTimeItWasTakenWithoutAStall() {
    Stream stream = new Stream(FIRST_BYTES);
    stream.take(FIRST_BYTES / 2);
    assertThat(stream.window.underWay()).as("renewed at half").isEqualTo(FIRST_BYTES);
    stream.take(FIRST_BYTES / 2);
    assertThat(stream.window.underWay()).isEqualTo(2 * FIRST_BYTES);
    stream.take(2 * FIRST_BYTES);
    assertThat(stream.window.underWay()).isEqualTo(MOST);
    stream.take(MOST);
    assertThat(stream.window.underWay()).as("as much as it may").isEqualTo(MOST);
    assertThat(ledger.bytes()).isEqualTo(MOST);
  }

  @Test
  void aStallKeepsAWindowAsItIs() {
    Stream stream = new Stream(FIRST_BYTES);
    stream.window.stalled();
    stream.take(FIRST_BYTES);
    assertThat(stream.window.underWay()).isEqualTo(FIRST_BYTES);
    stream.take(FIRST_BYTES);
    assertThat(stream.window.underWay()).isEqualTo(2 * FIRST_BYTES);
  }

  @Test
  void aWindowHalvesWhileThereIsLittleRoom() {
    Stream stream = new Stream(FIRST_BYTES);
    for (int i = 0; i < 40; i++) {
      stream.take(8 << 10);
    }
    assertThat(stream.window.underWay()).isGreaterThan(MOST / 2);
    ledger.hold(BOUND / 4 * 3 + 1);
    long before = stream.window.underWay();
    stream.take((int) before - 1);
    assertThat(stream.window.underWay()).isEqualTo(MOST / 2);
    stream.take(MOST / 2);
    stream.take(FIRST_BYTES);
    assertThat(stream.window.underWay()).as("no smaller than at first").isEqualTo(FIRST_BYTES);
  }

  @Test
  void aGrantWithoutRoomWaitsAndIsGivenFirstInFirstOut() {
    ledger.hold(BOUND);
    Stream first = new Stream(0);
    Stream second = new Stream(0);
    assertThat(ledger.waiting()).isEqualTo(2);
    assertThat(first.limits).as("what none goes without").containsExactly((long) MIN_WINDOW_BYTES);
    assertThat(ledger.needed()).isEqualTo(2 * FIRST_BYTES + 2 * MIN_WINDOW_BYTES);

    ledger.release(FIRST_BYTES + 2 * MIN_WINDOW_BYTES + 100);
    tasks.runAll();
    assertThat(first.limits).endsWith((long) FIRST_BYTES + MIN_WINDOW_BYTES);
    assertThat(second.limits).hasSize(1);
    assertThat(ledger.tryHold(1)).as("past who waits").isFalse();

    ledger.release(FIRST_BYTES - 100);
    tasks.runAll();
    assertThat(second.limits).endsWith((long) FIRST_BYTES + MIN_WINDOW_BYTES);
    assertThat(ledger.waiting()).isZero();
    assertThat(ledger.needed()).isZero();
  }

  @Test
  void aReaderThatReadsIsNeverWithoutSomethingUnderWay() {
    ledger.hold(BOUND);
    Stream stream = new Stream(0);
    for (int i = 0; i < 100; i++) {
      assertThat(stream.window.underWay()).isEqualTo(MIN_WINDOW_BYTES);
      stream.take(MIN_WINDOW_BYTES - 1);
      assertThat(stream.window.underWay()).as("but no more than that").isEqualTo(1);
      stream.take(1);
    }
  }

  @Test
  void whoLeavesTheQueueMakesRoomForWhoIsBehind() {
    Stream small = new Stream(FIRST_BYTES);
    ledger.hold(BOUND - FIRST_BYTES - 1);
    Stream large = new Stream(0);
    small.take(9_000); // asks for as much again
    assertThat(ledger.waiting()).isEqualTo(2);
    large.window.close();
    tasks.runAll();
    assertThat(ledger.waiting()).isZero();
    assertThat(small.window.underWay()).isEqualTo(FIRST_BYTES);
  }

  @Test
  void aGrantThatComesTooLateIsGivenBack() {
    ledger.hold(BOUND);
    StreamWindow window =
        new StreamWindow(
            ledger, MOST, 0, tasks, limit -> assertThat(limit).isEqualTo(MIN_WINDOW_BYTES));
    window.renew();
    ledger.release(FIRST_BYTES + MIN_WINDOW_BYTES); // its grant is on its way
    window.close();
    tasks.runAll();
    assertThat(ledger.bytes()).isEqualTo(BOUND - FIRST_BYTES - MIN_WINDOW_BYTES);
  }

  @Test
  void whatWasGrantedAndIsNotUsedIsGivenBackAtTheEnd() {
    Stream stream = new Stream(FIRST_BYTES);
    stream.window.arrived(100);
    stream.window.onEnded();
    assertThat(ledger.bytes()).isEqualTo(100);
    stream.take(60);
    assertThat(ledger.bytes()).isEqualTo(40);
    stream.window.close();
    stream.window.close();
    stream.take(40);
    assertThat(ledger.bytes()).isZero();
  }

  @Test
  void aWholeAnswerLeavesAtOnceOnlyWhileAQuarterStaysForGrants() {
    assertThat(ledger.tryCarry((int) (BOUND / 4 * 3))).isTrue();
    assertThat(ledger.tryCarry(1)).isFalse();
    assertThat(ledger.tryHold(BOUND / 4)).isTrue();
    ledger.release(BOUND);
    ledger.atWriters(BOUND / 4 * 3);
    assertThat(ledger.tryCarry(1)).as("writers count too").isFalse();
    assertThat(ledger.hasRoom()).isTrue();
    ledger.atWriters(BOUND / 4);
    assertThat(ledger.hasRoom()).isFalse();
    assertThat(ledger.tryHold(BOUND)).as("or nothing would ever leave them").isTrue();
  }

  /** Many streams of every temper beside a small bound: held within it, and zero at the end. */
  @Test
  void theSumStaysWithinItsBoundAndItsSlack() {
    long seed = new SplittableRandom().nextLong();
    SplittableRandom random = new SplittableRandom(seed);
    int count = 200;
    List<Stream> streams = new ArrayList<>();
    int slowest = 0;
    for (int turn = 0; turn < 40_000; turn++) {
      if (streams.size() < count && random.nextInt(4) == 0) {
        streams.add(new Stream(ledger.hasRoom() && random.nextBoolean() ? FIRST_BYTES : 0));
      } else if (!streams.isEmpty()) {
        int index = random.nextInt(streams.size());
        Stream stream = streams.get(index);
        if (index % 3 == 0) {
          slowest++; // it takes nothing
        } else if (stream.window.underWay() > 0) {
          stream.take(1 + random.nextInt((int) stream.window.underWay()));
        }
        if (random.nextInt(300) == 0) {
          if (random.nextBoolean()) {
            stream.window.arrived((int) stream.sent);
            stream.window.onEnded();
          }
          stream.window.close();
          streams.remove(index);
        }
      }
      assertThat(ledger.bytes())
          .as("seed %d turn %d", seed, turn)
          .isBetween(0L, BOUND + FIRST_BYTES + (long) count * MIN_WINDOW_BYTES);
      assertThat(streams.stream().allMatch(each -> each.window.underWay() > 0))
          .as("seed %d turn %d: each that took all has something under way", seed, turn)
          .isTrue();
    }
    assertThat(slowest).isPositive();
    streams.forEach(stream -> stream.window.close());
    tasks.runAll();
    assertThat(ledger.bytes()).as("seed %d", seed).isZero();
    assertThat(ledger.needed()).isZero();
    assertThat(ledger.waiting()).isZero();
  }
}

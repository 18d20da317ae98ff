package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.PlaneBuilder;
import dev.berth.protocol.port.TickTimer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeadlineRingTest {
  private static final long START = // a time of a tick; wraps soon
      Long.MAX_VALUE
          - Math.floorMod(Long.MAX_VALUE, TickTimer.TICK_NANOS)
          - Duration.ofSeconds(1).toNanos();

  private final DeadlineRing ring =
      new DeadlineRing(START, new TickTimer(PlaneBuilder.NO_TIMER, () -> START).deadlines);
  private final List<String> fired = new ArrayList<>();

  private final class Entry extends RingEntry {
    private final String name;
    private Runnable then = () -> {};

    Entry(String name) {
      this.name = name;
    }

    @Override
    protected void deadlinePassed(long now) {
      fired.add(name);
      then.run();
    }
  }

  private static long at(long millis) {
    return START + Duration.ofMillis(millis).toNanos();
  }

  @Test
  void advancedExactlyItFiresWhatIsDueBetweenTwoTicks() {
    ring.schedule(new Entry("a"), at(60));
    ring.schedule(new Entry("b"), at(61));
    ring.schedule(new Entry("a turn later"), at(60 + 25_600));
    ring.advanceExactly(at(59));
    assertThat(fired).isEmpty();
    ring.advanceExactly(at(60));
    assertThat(fired).containsExactly("a");
    ring.advance(at(75));
    assertThat(fired).containsExactly("a", "b");
    assertThat(ring.size()).isEqualTo(1);
  }

  @Test
  void aPauseLongerThanATurnLosesNothing() {
    for (int i = 0; i < 3_000; i++) {
      ring.schedule(new Entry("" + i), at(25L * i));
    }
    ring.advance(at(80_000));
    assertThat(fired).hasSize(3_000);
  }

  @Test
  void aPastDeadlineFiresAtTheNextTick() {
    ring.advance(at(1000));
    ring.schedule(new Entry("late"), at(10));
    ring.advance(at(1025));
    assertThat(fired).containsExactly("late");
  }

  @Test
  void aCancelledDeadlineNeverFires() {
    Entry entry = new Entry("a");
    ring.schedule(entry, at(50));
    ring.cancel(entry);
    ring.cancel(entry);
    ring.advance(at(100));
    assertThat(fired).isEmpty();
  }

  @Test
  void schedulingAgainMovesIt() {
    Entry entry = new Entry("a");
    ring.schedule(entry, at(50));
    ring.schedule(entry, at(200));
    ring.advance(at(100));
    assertThat(fired).isEmpty();
    ring.advance(at(200));
    assertThat(fired).containsExactly("a");
  }

  @Test
  void aCallbackMayCancelItsNeighbours() {
    Entry first = new Entry("first");
    Entry second = new Entry("second");
    Entry third = new Entry("third");
    ring.schedule(third, at(50));
    ring.schedule(second, at(50));
    ring.schedule(first, at(50));
    first.then = () -> ring.cancel(second);
    ring.advance(at(50));
    assertThat(fired).containsExactly("first", "third");
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void agreesWithASortedMap(long seed) {
    Random random = new Random(seed);
    TreeMap<Long, Entry> model = new TreeMap<>();
    List<Entry> entries = new ArrayList<>();
    long now = 0;
    for (int step = 0; step < 5_000; step++) {
      long when = now + 1 + random.nextInt(40_000);
      if (random.nextInt(3) > 0 && !model.containsKey(when)) {
        Entry entry = new Entry("" + when);
        entries.add(entry);
        model.put(when, entry);
        ring.schedule(entry, at(when));
      } else if (!model.isEmpty() && random.nextBoolean()) {
        ring.cancel(model.pollFirstEntry().getValue());
      }
      now += random.nextInt(60);
      fired.clear();
      ring.advance(at(now));
      long tick = now / 25 * 25;
      List<String> expected = new ArrayList<>();
      while (!model.isEmpty() && model.firstKey() <= tick) {
        expected.add("" + model.pollFirstEntry().getKey());
      }
      assertThat(fired)
          .as("seed %d, step %d", seed, step)
          .containsExactlyInAnyOrderElementsOf(expected);
      assertThat(ring.size()).isEqualTo(model.size());
    }
  }
}

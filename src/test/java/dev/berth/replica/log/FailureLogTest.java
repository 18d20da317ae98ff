package dev.berth.replica.log;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import dev.berth.api.DeploymentId;
import dev.berth.fakes.FakeParent;
import dev.berth.fakes.LogLines;
import dev.berth.fakes.ManualClock;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FailureLogTest {
  private final LogLines lines = new LogLines(FailureLog.class, Level.WARN);
  private final ManualClock clock = new ManualClock();
  private final FailureLog log =
      new FailureLog(new DeploymentId("shop", "cart"), "shop#cart#1", clock);

  @AfterEach
  void close() {
    lines.close();
  }

  private static Map<String, Object> pairs(ILoggingEvent line) {
    Map<String, Object> pairs = new TreeMap<>();
    line.getKeyValuePairs().forEach(pair -> pairs.put(pair.key, pair.value));
    return pairs;
  }

  private static RuntimeException here() {
    return new IllegalStateException("here");
  }

  private static RuntimeException there() {
    return new IllegalStateException("there");
  }

  private void fail(int times) {
    for (int i = 0; i < times; i++) {
      log.add("handler failed", here());
    }
  }

  @Test
  void aFailureThatCannotBeToldIsLoggedByItsClassAndFailsNobody() {
    log.add("handler failed", new Unspeakable());

    assertThat(lines.all()).hasSize(1);
    assertThat(lines.all().get(0).getThrowableProxy().getMessage())
        .startsWith(Unspeakable.class.getName() + ", without a message");
  }

  @Test
  void aLineSaysWhoseFailureItIs() {
    FakeParent request = new FakeParent();
    log.add("handler failed", here(), request);
    log.add("stop failed", here());

    assertThat(lines.all())
        .extracting(ILoggingEvent::getMessage)
        .containsExactly("handler failed", "stop failed");
    assertThat(pairs(lines.all().get(0)))
        .isEqualTo(
            Map.of(
                "application", "app",
                "deployment", "parent",
                "replica", "app#parent#1",
                "request_id", "parent-1"));
    assertThat(pairs(lines.all().get(1)))
        .isEqualTo(Map.of("application", "shop", "deployment", "cart", "replica", "shop#cart#1"));
  }

  @Test
  void ofOneClassAndPlaceSomeAreLoggedAndThenOneAtATimeWithHowManyWereNot() {
    fail(FailureLog.AT_ONCE + 40);
    assertThat(lines.all()).hasSize(FailureLog.AT_ONCE);
    assertThat(log.unlogged.sum()).isEqualTo(40);

    clock.advanceNanos(FailureLog.THEN_EVERY_NANOS - 1);
    fail(1);
    assertThat(lines.all()).hasSize(FailureLog.AT_ONCE);
    clock.advanceNanos(1);
    fail(3);
    assertThat(lines.all()).hasSize(FailureLog.AT_ONCE + 1);
    ILoggingEvent next = lines.all().get(FailureLog.AT_ONCE);
    assertThat(pairs(next)).containsEntry("suppressed", 41L);
    assertThat(next.getFormattedMessage())
        .isEqualTo("handler failed; 41 more since it was last logged");
    assertThat(log.counts.sums()).containsEntry("java.lang.IllegalStateException", 49L);

    clock.advanceNanos(FailureLog.THEN_EVERY_NANOS);
    fail(1);
    assertThat(pairs(lines.all().get(FailureLog.AT_ONCE + 1)))
        .as("those that were told are not told again")
        .containsEntry("suppressed", 2L);
  }

  @Test
  void anotherPlaceOfTheSameClassIsAnotherFailure() {
    fail(FailureLog.AT_ONCE + 1);
    log.add("handler failed", there());
    assertThat(lines.all()).hasSize(FailureLog.AT_ONCE + 1);
  }

  /** A stack costs much to look at: of a flood of one class most are only counted. */
  @Test
  void ofAFloodFewStacksAreLookedAtAndNoneIsForgotten() {
    int[] looks = {0};
    class Costly extends RuntimeException {
      private static final long serialVersionUID = 1L;

      @Override
      public StackTraceElement[] getStackTrace() {
        looks[0]++;
        return super.getStackTrace();
      }
    }
    for (int i = 0; i <= 10_000; i++) {
      if (i == 10_000) {
        assertThat(looks[0]).isLessThan(500);
        clock.advanceNanos(FailureLog.THEN_EVERY_NANOS);
      }
      log.add("handler failed", new Costly());
    }
    List<ILoggingEvent> all = lines.all();
    assertThat(pairs(all.get(all.size() - 1)))
        .containsEntry("suppressed", 10_000L - FailureLog.AT_ONCE);
  }

  @Test
  void placesAreBounded() {
    for (int i = 0; i < 1_000; i++) {
      RuntimeException made = new IllegalStateException();
      made.setStackTrace(
          new StackTraceElement[] {new StackTraceElement("a.B", "c" + i, "B.java", i)});
      clock.advanceNanos(100_000_000); // so that each is looked at
      log.add("handler failed", made);
    }
    assertThat(lines.all()).hasSizeBetween(128, 160);
  }

  private static final class Unspeakable extends RuntimeException {
    private static final long serialVersionUID = 1L;

    @Override
    public String getMessage() {
      throw new UnsupportedOperationException();
    }
  }
}

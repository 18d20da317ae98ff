package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.metrics.Meters;
import dev.berth.view.LogLine;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LogRingTest {
  private static final LogFilter ALL = new LogFilter(List.of(), List.of(), List.of(), "TRACE");

  private static LogLine line(String logger, String level, String message, String... fields) {
    Map<String, String> map = new HashMap<>();
    for (int i = 0; i < fields.length; i += 2) {
      map.put(fields[i], fields[i + 1]);
    }
    return new LogLine(0, level, logger, "t", message, map, null);
  }

  private static LogRing ring(int lines, long bytes) {
    return new LogRing(lines, bytes, Instant.EPOCH);
  }

  private static List<String> messages(LogRing.LogPage page) {
    return page.lines().stream().map(each -> each.line().message()).toList();
  }

  private static LogRing ringOf(int lines, String... messages) {
    LogRing ring = ring(lines, 1 << 20);
    for (String message : messages) {
      ring.add(line("l", "INFO", message));
    }
    return ring;
  }

  @Test
  void theOldestGoesForANewOneAndAReaderSeesHowManyItMissed() {
    LogRing ring = ringOf(3, "1", "2", "3", "4", "5");

    LogRing.LogPage page = ring.after(1, 10, ALL);
    assertThat(messages(page)).containsExactly("3", "4", "5");
    assertThat(page.lost()).isEqualTo(1); // number 2
    assertThat(page.next()).isEqualTo(5);
    assertThat(ring.after(5, 10, ALL)).isEqualTo(new LogRing.LogPage(List.of(), 5, 0));
  }

  @Test
  void aReaderWhoTakesFewGoesOnWhereItStopped() {
    LogRing ring = ringOf(9, "1", "2", "3", "4", "5");

    LogRing.LogPage first = ring.after(0, 2, ALL);
    assertThat(messages(first)).containsExactly("1", "2");
    assertThat(messages(ring.after(first.next(), 9, ALL))).containsExactly("3", "4", "5");
  }

  @Test
  void theLastAreTheLastOfThoseThatAreWanted() {
    LogRing ring = ring(9, 1 << 20);
    ring.add(line("l", "WARN", "first"));
    ring.add(line("l", "WARN", "second"));
    ring.add(line("l", "INFO", "third"));

    LogRing.LogPage page = ring.last(1, new LogFilter(List.of(), List.of(), List.of(), "WARN"));
    assertThat(messages(page)).containsExactly("second");
    assertThat(page.next()).isEqualTo(3);
  }

  @Test
  void linesTakeNoMoreMemoryThanTheyMay() {
    LogRing ring = ring(1_000, 64 << 10);
    for (int i = 0; i < 100; i++) {
      ring.add(line("l", "INFO", "x".repeat(1_000)));
    }
    assertThat(ring.last(1_000, ALL).lines()).hasSizeBetween(20, 32);
  }

  @Test
  void anApplicationThatFloodsTheLogLeavesTheOthersTheirs() {
    for (LogRing ring : List.of(ring(10, 1 << 20), ring(1_000, 5_000))) {
      ring.add(line("l", "INFO", "none"));
      ring.add(line("l", "INFO", "quiet", "application", "quiet"));
      for (int i = 3; i <= 100; i++) {
        ring.add(line("l", "INFO", "" + i, "application", "loud"));
      }
      LogRing.LogPage all = ring.after(0, 1_000, ALL);
      assertThat(messages(all)).startsWith("none", "quiet").endsWith("99", "100");
      assertThat(all.lines()).extracting(LogRing.NumberedLogLine::number).isSorted();
      assertThat(all.lost()).isEqualTo(100L - all.lines().size());
      LogRing.LogPage first = ring.after(0, 2, ALL);
      assertThat(first.lost()).as("none before those that were taken").isZero();
      assertThat(ring.after(first.next(), 1_000, ALL).lost()).isEqualTo(all.lost());
    }
  }

  @Test
  void aLongLineIsCutAndTheNewestIsKeptWhateverItTakes() {
    LogRing ring = ring(10, 1 << 14);
    ring.add(line("l", "INFO", "x".repeat(1 << 20), "k", "y".repeat(1 << 20)));

    LogLine kept = ring.last(1, ALL).lines().get(0).line();
    assertThat(kept.message()).hasSize(LogRing.MAX_TEXT_CHARS + 3).endsWith("x...");
    assertThat(kept.fields().get("k")).hasSizeLessThan(2_000);
  }

  @Test
  void aRingOfNoLinesKeepsNone() {
    assertThat(ringOf(0, "1").last(9, ALL)).isEqualTo(new LogRing.LogPage(List.of(), 0, 0));
  }

  @Test
  void itsBoundsAndWhatItDroppedAreMetrics() {
    LogRing ring = ringOf(2, "1", "2", "3");
    Meters meters = new Meters("n", "a", "", false);
    ring.show(meters);

    assertThat(meters.scrape("text/plain"))
        .contains("berth_log_lines 2.0", "berth_log_lines_limit 2.0")
        .contains("berth_log_bytes_limit 1048576.0", "berth_log_lines_dropped_total 1.0");
  }

  @Test
  void aLineIsOfWhatItsFieldsOrItsReplicaOrItsLoggerName() {
    LogFilter shop = new LogFilter(List.of("shop"), List.of(), List.of(), "TRACE");
    LogFilter cart = new LogFilter(List.of(), List.of("cart"), List.of(), "TRACE");
    LogFilter one = new LogFilter(List.of(), List.of(), List.of("shop#cart#1"), "TRACE");
    LogLine transition =
        line("TransitionLog", "INFO", "m", "application", "shop", "deployment", "cart");
    LogLine handlers = line("shop.cart", "INFO", "m", "replica", "shop#cart#1");
    LogLine outside = line("shop.cart", "INFO", "m");
    LogLine other = line("store.till", "INFO", "m", "replica", "store#till#1");

    assertThat(List.of(transition, handlers, outside)).allMatch(shop).allMatch(cart);
    assertThat(List.of(other)).noneMatch(shop).noneMatch(cart).noneMatch(one);
    assertThat(one.test(handlers)).isTrue();
    assertThat(List.of(transition, outside)).noneMatch(one);
    assertThat(cart.test(line("dev.berth.node.cart", "INFO", "m"))).isFalse();
  }

  @Test
  void applicationWithMostBytesMakesRoomForBytes() {
    LogRing ring = ring(100, 64 << 10);
    for (int i = 0; i < 20; i++) {
      ring.add(line("l", "INFO", "small" + i, "application", "quiet"));
    }
    for (int i = 0; i < 40; i++) {
      ring.add(line("l", "INFO", "x".repeat(8_000), "application", "loud"));
    }
    assertThat(messages(ring.last(100, ALL)))
        .filteredOn(each -> each.startsWith("small"))
        .as("the many small lines of another application")
        .hasSize(20);
  }
}

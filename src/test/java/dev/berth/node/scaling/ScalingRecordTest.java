package dev.berth.node.scaling;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.metrics.Meters;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ScalingRecordTest {
  @TempDir Path dir;
  private Path file;
  private final Meters meters = new Meters("n", "a", "", false);

  @BeforeEach
  void name() {
    file = dir.resolve("r.jsonl");
  }

  private ScalingRecord record(long maxBytes) {
    ScalingRecord record = new ScalingRecord(file, maxBytes);
    meters.add(record::show);
    return record;
  }

  private static JsonObject line(String text) {
    return new JsonObject().put("l", text);
  }

  /** A line that says when it is made, and then takes as long as the test wants. */
  private static Supplier<JsonObject> waiting(CountDownLatch begun, CountDownLatch end, String of) {
    return () -> {
      begun.countDown();
      try {
        assertThat(end.await(10, TimeUnit.SECONDS)).isTrue();
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
      }
      return line(of);
    };
  }

  private static void stop(ScalingRecord record) throws Exception {
    record.stop().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  private static List<String> lines(Path of) throws Exception {
    return Files.readAllLines(of).stream().filter(line -> !line.isEmpty()).toList();
  }

  private double metric(String name) {
    return meters
        .scrape("text/plain")
        .lines()
        .filter(line -> line.startsWith(name + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(' '))))
        .sum();
  }

  @Test
  void linesAreAppendedInTheirOrderAndStopWritesWhatWaits() throws Exception {
    ScalingRecord record = record(1 << 20);
    for (int i = 0; i < 100; i++) {
      int number = i;
      record.add(() -> line("" + number));
    }
    stop(record);
    assertThat(lines(file)).hasSize(100).startsWith("{\"l\":\"0\"}").endsWith("{\"l\":\"99\"}");
    assertThat(metric("berth_autoscaling_record_lines_total")).isEqualTo(100);

    ScalingRecord again = record(1 << 20);
    again.add(() -> line("later"));
    stop(again);
    assertThat(lines(file)).hasSize(101);
  }

  @Test
  void eachFileBeginsWithWhatHoldsAndTwoAreKept() throws Exception {
    ScalingRecord record = record(1_000);
    record.head("gone", line("gone"));
    record.head("a", line("old"));
    record.head("a", line("rules"));
    record.head("gone", null);
    for (int i = 0; i < 200; i++) {
      record.add(() -> line("0123456789"));
    }
    stop(record);
    assertThat(lines(file).get(0)).isEqualTo("{\"l\":\"rules\"}");
    assertThat(lines(ScalingRecord.before(file)).get(0)).isEqualTo("{\"l\":\"rules\"}");
    assertThat(lines(file)).noneMatch(line -> line.contains("gone"));
    assertThat(Files.size(file)).isLessThanOrEqualTo(1_020);
    assertThat(Files.size(ScalingRecord.before(file))).isBetween(900L, 1_020L);
    try (var all = Files.list(dir)) {
      assertThat(all).hasSize(2);
    }
  }

  @Test
  void whatIsCutOffIsALineOfItsOwn() throws Exception {
    Files.writeString(file, "{\"l\":\"to", StandardOpenOption.CREATE);
    ScalingRecord record = record(1 << 20);
    record.add(() -> line("whole"));
    stop(record);
    assertThat(lines(file)).containsExactly("{\"l\":\"to", "{\"l\":\"whole\"}");
  }

  /** As a full disk does: {@code /dev/full} takes nothing. */
  @Test
  void aDiskThatTakesNothingLosesLinesAndNothingElse() throws Exception {
    file = Path.of("/dev/full");
    ScalingRecord full = record(1 << 20);
    full.add(() -> line("a"));
    full.add(() -> line("b"));
    stop(full);
    assertThat(metric("berth_autoscaling_record_lost_total")).isEqualTo(2);
  }

  @Test
  void aFolderThatComesBackIsWrittenToAgainWithWhatHolds() throws Exception {
    file = dir.resolve("later/r.jsonl");
    ScalingRecord record = record(1 << 20);
    record.head("a", line("rules"));
    CountDownLatch lost = new CountDownLatch(1);
    record.add(waiting(lost, new CountDownLatch(0), "lost"));
    assertThat(lost.await(10, TimeUnit.SECONDS)).isTrue();
    CountDownLatch made = new CountDownLatch(1);
    record.add(waiting(new CountDownLatch(1), made, "kept"));
    Files.createDirectory(dir.resolve("later"));
    made.countDown();
    stop(record);
    assertThat(lines(file)).startsWith("{\"l\":\"rules\"}").endsWith("{\"l\":\"kept\"}");
    assertThat(metric("berth_autoscaling_record_lost_total")).isPositive();
  }

  @Test
  void whoRecordsNeverWaitsForASlowDisk() throws Exception {
    ScalingRecord record = record(1 << 20);
    CountDownLatch stuck = new CountDownLatch(1);
    CountDownLatch begun = new CountDownLatch(1);
    record.add(waiting(begun, stuck, "slow"));
    assertThat(begun.await(10, TimeUnit.SECONDS)).isTrue();
    for (int i = 0; i < ScalingRecord.MAX_WAITING + 4; i++) {
      record.add(() -> line("x"));
    }
    record.head("a", line("rules"));
    assertThat(metric("berth_autoscaling_record_waiting")).isEqualTo(ScalingRecord.MAX_WAITING);
    assertThat(metric("berth_autoscaling_record_lost_total")).isEqualTo(5);
    stuck.countDown();
    stop(record);
    assertThat(lines(file))
        .as("what holds is not lost, though there was no room for it")
        .hasSize(ScalingRecord.MAX_WAITING + 2)
        .contains("{\"l\":\"rules\"}");
  }
}

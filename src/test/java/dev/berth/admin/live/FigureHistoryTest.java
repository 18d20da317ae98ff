package dev.berth.admin.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.NodeFigures;
import dev.berth.protocol.NodeFigures.DeploymentFigures;
import dev.berth.protocol.NodeFigures.LatencyCount;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FigureHistoryTest {
  private static final DeploymentId SHOP = new DeploymentId("shop", "infer");
  private static final long START_MS = 1_767_225_600_000L; // a whole day

  private long nowMs = START_MS;
  private FigureHistory history = new FigureHistory(FigureHistory.MAX_BYTES, nowMs);

  private static DeploymentFigures figures(DeploymentId of, long requests, int used) {
    List<LatencyCount> latencies =
        requests == 0 ? List.of() : List.of(new LatencyCount(4, requests)); // 10 to 20 ms
    return new DeploymentFigures(of, requests, requests / 10, latencies, 3, used, 8, 2);
  }

  private void report(String node, DeploymentFigures... figures) {
    history.record(
        new HandleMetricBatch(
            node,
            1,
            1,
            List.of(),
            List.of(),
            List.of(),
            new NodeFigures(1_000, 2_500, List.of(figures))),
        nowMs);
  }

  private void endSecond() {
    nowMs += 1_000;
    history.end(nowMs, each -> each.accept(SHOP, 4));
  }

  private JsonArray curve(@Nullable Object key, boolean ofDay, String column) {
    return json(key, ofDay).getJsonObject("columns").getJsonArray(column);
  }

  private JsonObject json(@Nullable Object key, boolean ofDay) {
    return Objects.requireNonNull(history.curves(key, ofDay)).get();
  }

  private static @Nullable Double last(JsonArray curve) {
    return curve.getDouble(curve.size() - 1);
  }

  @Test
  void secondHasTheFiguresOfAllNodes() {
    report("n1", figures(SHOP, 100, 5));
    report("n2", figures(SHOP, 50, 1));
    endSecond();
    assertThat(json(SHOP, false).getInteger("step_s")).isEqualTo(1);
    assertThat(curve(SHOP, false, "requests_per_s")).hasSize(3_600);
    assertThat(last(curve(SHOP, false, "requests_per_s"))).isEqualTo(150);
    assertThat(last(curve(SHOP, false, "errors_per_s"))).isEqualTo(15);
    assertThat(last(curve(SHOP, false, "p50_ms"))).isEqualTo(15, within(0.01));
    assertThat(last(curve(SHOP, false, "slots_used"))).isEqualTo(6);
    assertThat(last(curve(SHOP, false, "slots"))).isEqualTo(16);
    assertThat(last(curve(SHOP, false, "replicas"))).isEqualTo(4);
    assertThat(last(curve(SHOP, false, "target"))).isEqualTo(4);
    assertThat(last(curve(null, false, "requests_per_s"))).isEqualTo(150);
    assertThat(last(curve(null, false, "p50_ms"))).isEqualTo(15, within(0.01));
    assertThat(last(curve("n1", false, "loop_lag_ms"))).isEqualTo(2.5);
    assertThat(history.addFigures(SHOP, new JsonObject()).getDouble("requests_per_s"))
        .isEqualTo(150);
  }

  @Test
  void silentDeploymentKeepsItsSlotsButHasNoRequests() {
    report("n1", figures(SHOP, 100, 5));
    endSecond();
    report("n1");
    endSecond();
    assertThat(last(curve(SHOP, false, "requests_per_s"))).isZero();
    assertThat(last(curve(SHOP, false, "p99_ms"))).isNull();
    assertThat(last(curve(SHOP, false, "slots_used"))).isEqualTo(5);
  }

  @Test
  void figuresOfASilentNodeEndAfterThreeSignsOfLife() {
    report("n1", figures(SHOP, 100, 5));
    IntStream.range(0, 15).forEach(second -> endSecond());
    assertThat(last(curve(SHOP, false, "slots"))).isEqualTo(8);
    endSecond();
    assertThat(last(curve(SHOP, false, "slots"))).isZero();
    assertThat(last(curve("n1", false, "loop_lag_ms"))).isNull();
    assertThat(history.lagMs("n1")).isNull();
  }

  @Test
  void dayHasTheMeansOfItsMinutes() {
    for (int second = 0; second < 60; second++) {
      report("n1", figures(SHOP, second < 30 ? 100 : 0, 5));
      endSecond();
    }
    assertThat(json(SHOP, true).getInteger("step_s")).isEqualTo(60);
    assertThat(json(SHOP, true).getLong("to_ms")).isEqualTo(nowMs);
    assertThat(curve(SHOP, true, "requests_per_s")).hasSize(1_440);
    assertThat(last(curve(SHOP, true, "requests_per_s"))).isEqualTo(50);
    assertThat(last(curve(SHOP, true, "p99_ms"))).isEqualTo(19.9, within(0.01));
  }

  @Test
  void lateEndFillsAFewSecondsAndALongPauseIsAGap() {
    report("n1", figures(SHOP, 100, 5));
    endSecond();
    report("n1", figures(SHOP, 100, 5));
    nowMs += 1_000;
    endSecond();
    JsonArray curve = curve(SHOP, false, "requests_per_s");
    assertThat(curve.getList().subList(3_597, 3_600).toString()).isEqualTo("[100.0, 100.0, 100.0]");
    nowMs += 9_000;
    endSecond();
    assertThat(curve(SHOP, false, "requests_per_s").getList().subList(3_589, 3_600).toString())
        .isEqualTo("[100.0, null, null, null, null, null, null, null, 0.0, 0.0, 0.0]");
  }

  @Test
  void clockThatIsSetBackContinuesTheCurvesAtItsTime() {
    for (int second = 0; second < 10; second++) {
      report("n1", figures(SHOP, 100 + second, 5));
      endSecond();
    }
    nowMs -= 5_000;
    report("n1", figures(SHOP, 7, 5));
    endSecond();
    report("n1", figures(SHOP, 7, 5));
    endSecond();
    JsonArray curve = curve(SHOP, false, "requests_per_s");
    assertThat(last(curve)).isEqualTo(7);
    assertThat(curve).contains(100.0, 104.0).doesNotContain(107.0);
    nowMs -= 86_400_000;
    endSecond();
    endSecond();
    assertThat(last(curve(SHOP, false, "slots"))).isEqualTo(8);
  }

  @Test
  void stepsGetLongerWithMoreDeploymentsAndTheMemoryStaysBounded() {
    for (int second = 0; second < 180; second++) {
      report("n1", figures(SHOP, 100, 5));
      endSecond();
    }
    int[] stepsS = {1, 5, 15, 60};
    int[] counts = {100, 700, 2_000, 5_000};
    for (int i = 0; i < counts.length; i++) {
      for (int number = 0; number < counts[i]; number++) {
        report("n1", figures(new DeploymentId("app", "d" + number), 1, 1));
      }
      endSecond();
      assertThat(json(SHOP, false).getInteger("step_s")).as("of " + counts[i]).isEqualTo(stepsS[i]);
      assertThat(history.bytes()).isLessThanOrEqualTo(FigureHistory.MAX_BYTES);
    }
    IntStream.range(0, 60).forEach(second -> endSecond());
    assertThat(curve(SHOP, false, "requests_per_s")).hasSize(60);
    assertThat(curve(SHOP, false, "requests_per_s"))
        .anyMatch(each -> each instanceof Double value && value > 30 && value <= 100);
  }

  @Test
  void deploymentsThatComeAndGoNeitherGrowTheMemoryNorExcludeNewOnes() {
    for (int number = 0; number < 40_000; number++) {
      report("n1", figures(new DeploymentId("app", "d" + number), 1, 1));
      if (number % 1_000 == 999) {
        nowMs += 20_000;
        history.end(nowMs, each -> {});
      }
    }
    assertThat(history.bytes()).isLessThanOrEqualTo(FigureHistory.MAX_BYTES);
    assertThat(history.curves(new DeploymentId("app", "d39999"), false)).isNotNull();
    assertThat(history.curves(new DeploymentId("app", "d0"), false)).isNull();
    assertThat(history.refusedCount()).isZero();
  }

  @Test
  void moreLiveDeploymentsThanFitAreRefusedAndCounted() {
    history = new FigureHistory(100_000, nowMs);
    for (int number = 0; number < 100; number++) {
      report("n1", figures(new DeploymentId("app", "d" + number), 1, 1));
    }
    assertThat(history.bytes()).isLessThanOrEqualTo(100_000);
    assertThat(history.refusedCount()).isPositive();
    assertThat(history.curves(new DeploymentId("app", "d0"), false)).isNotNull();
  }

  @Test
  void refusedDeploymentIsAdmittedWhenAnotherIsSilent() {
    history = new FigureHistory(100_000, nowMs);
    for (int number = 0; number < 100; number++) {
      report("n1", figures(new DeploymentId("app", "d" + number), 1, 1));
    }
    DeploymentId late = new DeploymentId("app", "d99");
    assertThat(history.curves(late, false)).isNull();
    nowMs += 20_000;
    history.end(nowMs, each -> {});
    report("n1", figures(late, 1, 1));
    assertThat(history.curves(late, false)).isNotNull();
    assertThat(history.bytes()).isLessThanOrEqualTo(100_000);
  }

  @Test
  void figuresOfManyNodesCountInTheMemory() {
    for (int node = 0; node < 64; node++) {
      for (int number = 0; number < 600; number++) {
        report("n" + node, figures(new DeploymentId("app", "d" + number), 1, 1));
      }
      assertThat(history.bytes()).isLessThanOrEqualTo(FigureHistory.MAX_BYTES);
    }
    long own = HistorySeries.bytes(FigureHistory.COLUMNS.size(), 60, 3_600);
    long held = history.bytes() - 600 * own; // of further nodes
    assertThat(held / HistorySeries.HELD_BYTES).isBetween(22_000L, 64L * 600);
    assertThat(history.refusedCount()).isPositive();
    nowMs += 20_000; // all nodes are silent
    endSecond();
    assertThat(history.bytes()).isLessThan(700 * own);
  }

  @Test
  void curvesAreThoseOfTheirRequest() {
    report("n1", figures(SHOP, 100, 5));
    endSecond();
    Supplier<JsonObject> before = Objects.requireNonNull(history.curves(SHOP, false));
    report("n1", figures(SHOP, 7, 5));
    endSecond();
    JsonArray curve = before.get().getJsonObject("columns").getJsonArray("requests_per_s");
    assertThat(last(curve)).isEqualTo(100);
  }

  @Test
  void restartsOfANodeLeaveTheStepsOfTheOthersShort() {
    for (int restart = 0; restart < 1_000; restart++) { // each has its own id
      report("n1~" + restart, figures(SHOP, 100, 5));
      endSecond();
      nowMs += 19_000;
    }
    assertThat(json("n1~999", false).getInteger("step_s")).isEqualTo(1);
    assertThat(json(SHOP, false).getInteger("step_s")).isEqualTo(1);
    assertThat(history.bytes()).isLessThanOrEqualTo(FigureHistory.MAX_BYTES);
  }

  @Test
  void hourOfSimulatedTimeLeavesTheHeapFlat() {
    hour();
    long before = usedBytes();
    hour();
    assertThat(usedBytes() - before).isLessThan(2 << 20);
  }

  private void hour() {
    for (int second = 0; second < 3_600; second++) {
      for (int number = 0; number < 20; number++) {
        report("n1", figures(new DeploymentId("app", "d" + number), second, number));
      }
      endSecond();
    }
  }

  private static long usedBytes() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  @Test
  void numberHasTwelveSignificantBits() {
    Random random = new Random(Long.getLong("history.seed", 1));
    for (int i = 0; i < 100_000; i++) {
      double value = Math.exp(random.nextDouble(Math.log(0.001), Math.log(4e6)));
      double back = HistoryRing.decode((short) HistoryRing.encode(value));
      assertThat(back).isEqualTo(value, within(value / 4_000));
    }
    for (int whole = 0; whole <= 4_096; whole++) {
      assertThat(HistoryRing.decode((short) HistoryRing.encode(whole))).isEqualTo(whole);
    }
    assertThat(HistoryRing.decode((short) HistoryRing.encode(Double.NaN))).isNaN();
    assertThat(HistoryRing.decode((short) HistoryRing.encode(-1))).isZero();
    assertThat(HistoryRing.decode((short) HistoryRing.encode(1e12))).isGreaterThan(4e6);
  }
}

package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.controller.autoscaling.DeploymentLoad;
import dev.berth.controller.autoscaling.HandleReports;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.NodeFigures;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the controller makes of the metrics that instances push (seed 003). */
class HandleReportsTest {
  private static final DeploymentId MODEL = new DeploymentId("app", "model");
  private static final DeploymentId OTHER = new DeploymentId("app", "other");

  private final HandleReports reports = new HandleReports(Long.MAX_VALUE);

  private static final long MS = 1_000_000; // nanoseconds

  private static HandleMetricReport report(DeploymentId deployment, int queued, int running) {
    return new HandleMetricReport(
        deployment, queued, running, 1, queued + running + 1.0, 1.0, false, List.of());
  }

  private static HandleMetricBatch batch(
      String node, long incarnation, long sequence, HandleMetricReport... handles) {
    return new HandleMetricBatch(
        node, incarnation, sequence, List.of(handles), List.of(), List.of(), NodeFigures.NONE);
  }

  @Test
  void oneBatchBringsTheReportsOfAllItsHandles() {
    assertThat(reports.record(batch("n1", 1, 1, report(MODEL, 2, 3), report(OTHER, 0, 1)), 0))
        .isTrue();
    assertThat(reports.load(MODEL, 0)).isEqualTo(new DeploymentLoad(2, 3, 1, 6.0, 0.0, 1, 0));
    assertThat(reports.load(OTHER, 0)).isEqualTo(new DeploymentLoad(0, 1, 1, 2.0, 0.0, 1, 0));
  }

  @Test
  void theInstancesAddUp() {
    reports.record(batch("n1", 1, 1, report(MODEL, 2, 3)), 0);
    reports.record(batch("n2", 1, 1, report(MODEL, 4, 5)), 50 * MS);
    assertThat(reports.load(MODEL, 60 * MS))
        .isEqualTo(new DeploymentLoad(6, 8, 2, 16.0, 0.0, 2, 60));
  }

  @Test
  void anOlderBatchOrTheSameAgainChangesNothing() {
    reports.record(batch("n1", 1, 2, report(MODEL, 2, 3)), 0);
    assertThat(reports.record(batch("n1", 1, 1, report(MODEL, 9, 9)), 1)).isFalse();
    assertThat(reports.record(batch("n1", 1, 2, report(MODEL, 9, 9)), 1)).isFalse();
    assertThat(reports.load(MODEL, MS)).isEqualTo(new DeploymentLoad(2, 3, 1, 6.0, 0.0, 1, 1));
  }

  @Test
  void whatWasReportedHoldsAndIsAsOldAsItsInstancesLastBatch() {
    reports.record(batch("n1", 1, 1, report(MODEL, 2, 3)), 0);
    assertThat(reports.load(MODEL, 100 * MS))
        .isEqualTo(new DeploymentLoad(2, 3, 1, 6.0, 0.0, 1, 100));
    reports.record(batch("n1", 1, 2), 500 * MS); // nothing changed
    assertThat(reports.load(MODEL, 600 * MS))
        .isEqualTo(new DeploymentLoad(2, 3, 1, 6.0, 0.0, 1, 100));
    assertThat(reports.load(MODEL, 1_000_500 * MS).oldestMs()).as("silent").isEqualTo(1_000_000);
    assertThat(reports.load(MODEL, 1_000_500 * MS).queued()).as("and never zero").isEqualTo(2);
  }

  @Test
  void aFinalZeroIsForgotten() {
    reports.record(batch("n1", 1, 1, report(MODEL, 2, 3)), 0);
    reports.record(batch("n1", 1, 2, HandleMetricReport.finalZero(MODEL)), 1);
    assertThat(reports.load(MODEL, 1)).isEqualTo(new DeploymentLoad(0, 0, 0, 0.0, 0.0, 0, 0));
  }

  @Test
  void anInstanceThatStartsAnewForgetsWhatItsEarlierStartSaid() {
    reports.record(batch("n1", 1, 7, report(MODEL, 2, 3)), 0);
    assertThat(reports.record(batch("n1", 2, 1), 1)).isTrue();
    assertThat(reports.load(MODEL, 2).instances()).isZero();
    assertThat(reports.record(batch("n1", 1, 8, report(MODEL, 9, 9)), 2))
        .as("a late batch of the earlier start")
        .isFalse();
    assertThat(reports.load(MODEL, 2).instances()).isZero();
  }

  @Test
  void aDeploymentThatIsGoneIsForgotten() {
    reports.record(batch("n1", 1, 1, report(MODEL, 2, 3), report(OTHER, 1, 1)), 0);
    reports.forget(MODEL);
    assertThat(reports.load(MODEL, 0).instances()).isZero();
    assertThat(reports.load(OTHER, 0).instances()).isOne();
  }

  @Test
  void instancesBeyondTheBoundAreRefused() {
    for (int i = 0; i < HandleReports.MAX_INSTANCES; i++) {
      assertThat(reports.record(batch("n" + i, 1, 1), 0)).isTrue();
    }
    assertThat(reports.record(batch("one too many", 1, 1, report(MODEL, 1, 1)), 0)).isFalse();
    assertThat(reports.record(batch("n0", 1, 2, report(MODEL, 1, 1)), 0))
        .as("a known one goes on")
        .isTrue();
  }
}

package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.DeploymentHandle;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A test learns what it left behind, and what it waits for in vain. */
class UnsettledTest {
  @AutoClose private TestBerth berth;
  private static final Duration SHORT = Duration.ofMillis(50); // for what never comes

  @Test
  void aSelectionThatWasNeverClosedIsReportedAtClose() {
    TestBerth berth = TestBerth.start(Apps.echo());
    ReplicaSelection forgotten = berth.await(berth.handle("one").choose());
    assertThat(forgotten.replicaId()).isEqualTo("default#one#1");
    assertThatThrownBy(berth::close)
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("not at rest")
        .hasMessageContaining(
            "replica default#one#1: 1 slot is held by selections that were neither dispatched nor"
                + " closed");
  }

  @Test
  void handlersThatHaveNotSettledAreReportedAtCloseAndCancelled() {
    Apps.Gate gate = new Apps.Gate();
    TestBerth berth =
        TestBerth.of(Apps.of(gate)).set("one", "max_ongoing_requests", 2).patience(SHORT).start();
    DeploymentHandle one = berth.handle("one");
    Future<Response> runs = one.call(Request.get("/a"));
    one.call(Request.get("/b"));
    one.call(Request.get("/waits"));
    berth.run();
    assertThatThrownBy(berth::close)
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("replica default#one#1: 2 requests run: GET /a, GET /b")
        .hasMessageContaining("deployment default#one: 1 request waits for a slot");
    assertThat(runs.isComplete()).isTrue();
  }

  @Test
  void aCancelledHandlerThatRunsOnIsReportedAsSuch() {
    Apps.Gate gate = new Apps.Gate();
    berth = TestBerth.of(Apps.of(gate)).allowUnsettled().start();
    Pending<Response> call = berth.handle("one").start(Request.get("/a"));
    berth.run();
    call.cancel();
    berth.awaitFailure(call.future());
    assertThat(berth.unsettled())
        .contains("replica default#one#1: 1 request runs (1 cancelled, not settled)");
  }

  @Test
  void whatTheTestToleratesIsNotReported() {
    Apps.Gate gate = new Apps.Gate();
    Future<Response> left;
    try (TestBerth berth = TestBerth.of(Apps.of(gate)).allowUnsettled().start()) {
      left = berth.handle("one").call(Request.get("/"));
      berth.run();
    }
    assertThat(gate.entered).hasSize(1);
    assertThat(left.isComplete()).isTrue();
  }

  @Test
  void aCallThatOnlyTheClockCanEndSaysSo() {
    berth = TestBerth.of(Apps.slow(Duration.ofSeconds(3))).patience(SHORT).allowUnsettled().start();
    assertThatThrownBy(() -> berth.call(Request.get("/")))
        .hasMessageContaining("replica default#one#1: 1 request runs: GET /")
        .hasMessageContaining("the clock stands at PT0S; 1 timer waits for PT3S: advance it");
  }

  @Test
  void aCallThatNothingCanAnswerFailsAtOnce() {
    Duration tooLong = Duration.ofHours(1);
    berth =
        TestBerth.of(Apps.echo()).set("one", "max_ongoing_requests", 1).patience(tooLong).start();
    ReplicaSelection selection = berth.await(berth.handle("one").choose());
    assertThatThrownBy(() -> berth.call(Request.get("/")))
        .hasMessageContaining("deployment default#one: 1 request waits for a slot");
    berth.await(selection.close());
  }

  @Test
  void theFirstFailureOfATestIsNotHiddenByItsClose() {
    assertThatThrownBy(
            () -> {
              try (TestBerth berth = TestBerth.start(Apps.echo())) {
                berth.await(berth.handle("one").choose());
                throw new IllegalStateException("of the test");
              }
            })
        .hasMessage("of the test")
        .satisfies(failure -> assertThat(failure.getSuppressed()).hasSize(1));
  }
}

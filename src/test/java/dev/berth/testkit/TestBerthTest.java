package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class TestBerthTest {
  @AutoClose private TestBerth berth;

  @Test
  void aCallIsAnswered() {
    berth = TestBerth.start(Apps.echo());
    assertThat(berth.text(berth.call(Request.get("/a")))).isEqualTo("/a");
    assertThat(berth.text(berth.call("one", Request.get("/b")))).isEqualTo("/b");
    assertThat(berth.text(berth.call("default#one", Request.get("/c")))).isEqualTo("/c");
  }

  @Test
  void nothingHappensUntilTheTestRunsIt() {
    Apps.Gate gate = new Apps.Gate();
    berth = TestBerth.start(Apps.of(gate));
    Future<Response> response = berth.handle("one").call(Request.get("/"));
    assertThat(gate.entered).isEmpty();
    berth.run();
    assertThat(gate.entered).hasSize(1);
    assertThat(response.isComplete()).isFalse();
    gate.open();
    berth.run();
    assertThat(response.isComplete()).isTrue();
  }

  @Test
  void everythingRunsOnTheThreadOfTheTest() {
    AtomicReference<Thread> handled = new AtomicReference<>();
    AtomicReference<Thread> completed = new AtomicReference<>();
    Application application =
        Apps.of(
            (request, context) -> {
              handled.set(Thread.currentThread());
              return Apps.text("");
            });
    try (TestBerth berth = TestBerth.start(application)) {
      berth.await(
          berth
              .handle("one")
              .call(Request.get("/"))
              .onComplete(done -> completed.set(Thread.currentThread())));
    }
    assertThat(handled).hasValue(Thread.currentThread());
    assertThat(completed).hasValue(Thread.currentThread());
  }

  @Test
  void aFailedCallThrowsItsOwnFailureWithTheLineOfTheTest() {
    IllegalArgumentException thrown = new IllegalArgumentException("no such fish");
    berth = TestBerth.start(Apps.of((request, context) -> Future.failedFuture(thrown)));
    assertThatThrownBy(() -> berth.call(Request.get("/")))
        .isInstanceOf(BerthException.HandlerFailed.class)
        .satisfies(
            failure -> {
              assertThat(failure.getSuppressed()[0]).isSameAs(thrown);
              assertThat(failure.getSuppressed()[1].getStackTrace())
                  .anyMatch(frame -> frame.getClassName().equals(getClass().getName()));
            });
    assertThat(berth.handlerFailures()).containsExactly(thrown);
  }

  @Test
  void aFutureOfTheTestIsAwaitedWhoeverCompletesIt() {
    berth = TestBerth.start(Apps.echo());
    Promise<String> promise = Promise.promise();
    Thread other = new Thread(() -> promise.complete("other"));
    other.start();
    assertThat(berth.await(promise.future())).isEqualTo("other");
    assertThatThrownBy(() -> berth.await(Future.failedFuture(new IOException("disk"))))
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(IOException.class);
    assertThatThrownBy(() -> berth.await(Future.failedFuture(new AssertionError("own"))))
        .isInstanceOf(AssertionError.class)
        .hasMessage("own");
    assertThatThrownBy(() -> berth.awaitFailure(Future.succeededFuture(5)))
        .hasMessage("future: succeeded with 5 (expected: failed)");
  }

  @Test
  void anExceptionInACallbackReachesTheTest() {
    berth = TestBerth.start(Apps.echo());
    berth
        .handle("one")
        .call(Request.get("/"))
        .onSuccess(
            response -> {
              throw new AssertionError("not what I wanted");
            });
    assertThatThrownBy(berth::run).hasMessage("not what I wanted");
    assertThat(berth.text(berth.call(Request.get("/next")))).isEqualTo("/next");
  }

  @Test
  void aHandlerThatDrivesTheKitIsToldNotTo() {
    AtomicReference<TestBerth> kit = new AtomicReference<>();
    Application application =
        Apps.of(
            (request, context) -> {
              kit.get().run();
              return Apps.text("");
            });
    berth = TestBerth.start(application);
    kit.set(berth);
    assertThat(berth.awaitFailure(berth.handle("one").call(Request.get("/"))))
        .isInstanceOf(BerthException.HandlerFailed.class);
    assertThat(berth.handlerFailures())
        .singleElement()
        .satisfies(
            failure -> assertThat(failure).hasMessageContaining("called by a task of its own"));
  }

  @Test
  void settingsOverrideTheCodeAndAreChecked() {
    try (TestBerth berth =
        TestBerth.of(Apps.naming(3))
            .set("one", "num_replicas", 2)
            .set("one", "max_ongoing_requests", 4)
            .start()) {
      assertThat(berth.replicas("one")).hasSize(2);
      assertThat(berth.ledger("one").slots()).isEqualTo(8);
      assertThat(berth.ledger("one").free()).isEqualTo(8);
    }
    TestBerthBuilder builder = TestBerth.of(Apps.echo());
    assertThatThrownBy(() -> builder.set("two", "num_replicas", 2))
        .hasMessage("deployment: two (expected: one of [one])");
    assertThatThrownBy(
            () ->
                builder
                    .set("one", "num_replicas", 0)
                    .set("one", "berth.queue_timeout_s", "soon")
                    .set("one", "max_going_requests", 2)
                    .start())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("num_replicas: 0")
        .hasMessageContaining("queue_timeout_s: \"soon\"")
        .hasMessageContaining("max_ongoing_requests");
  }

  @Test
  void userConfigOverridesTheCodes() {
    Application application =
        Application.of(
            Deployment.of(
                    "one",
                    replica ->
                        (AsyncHandler)
                            (request, context) -> Apps.text(replica.userConfig().toString()))
                .withUserConfig(Map.of("fish", 1)));
    berth = TestBerth.of(application).set("one", "user_config", Map.of("bird", List.of(2))).start();
    assertThat(berth.text(berth.call(Request.get("/")))).isEqualTo("{bird=[2]}");
  }

  @Test
  void boundsOfTheInstanceCanBeSet() {
    Apps.Gate gate = new Apps.Gate();
    berth =
        TestBerth.of(Apps.of(gate))
            .set("one", "max_ongoing_requests", 1)
            .setLimit("max_queued_total", 1)
            .allowUnsettled()
            .start();
    DeploymentHandle one = berth.handle("one");
    one.call(Request.get("/"));
    one.call(Request.get("/"));
    assertThat(berth.awaitFailure(one.call(Request.get("/"))))
        .isInstanceOf(BerthException.BackPressure.class);
  }

  @Test
  void severalApplicationsRunBesideOneAnother() {
    berth =
        TestBerth.of(Apps.echo())
            .with(
                "other",
                Application.of(
                    Deployment.async("one", (r, c) -> Apps.text("o")),
                    Deployment.async("two", (r, c) -> Apps.text("t"))))
            .start();
    assertThat(berth.text(berth.call("other#one", Request.get("/")))).isEqualTo("o");
    assertThat(berth.text(berth.call("two", Request.get("/")))).isEqualTo("t");
    assertThat(berth.text(berth.call(Request.get("/first")))).isEqualTo("/first");
    assertThatThrownBy(() -> berth.handle("one"))
        .hasMessage("deployment: one (expected: one of [default#one, other#one, other#two])");
  }

  @Test
  void theSameSeedGivesTheSameOrder() {
    List<List<String>> orders = IntStream.range(0, 2).mapToObj(run -> order(7)).toList();
    assertThat(orders.get(0)).hasSize(60).isEqualTo(orders.get(1));
    assertThat(IntStream.range(0, 20).mapToObj(this::order).distinct().count()).isGreaterThan(10);
  }

  private List<String> order(long seed) {
    List<String> order = new ArrayList<>();
    Application application =
        Application.of(
            Deployment.async(
                    "one",
                    (request, context) -> {
                      order.add(context.replicaId() + request.path());
                      return context.after(Duration.ofMillis(3)).map(none -> Response.text(""));
                    })
                .withNumReplicas(3)
                .withMaxOngoingRequests(2));
    try (TestBerth berth = TestBerth.of(application).eventLoops(3).seed(seed).start()) {
      for (int i = 0; i < 60; i++) {
        berth.handleOn(i % 3, "one").call(Request.get("/" + i));
      }
      berth.advance(Duration.ofSeconds(1));
    }
    return order;
  }

  @Test
  void aSpreadDeploymentServesOnTheLoopOfItsCaller() {
    List<Object> made = new ArrayList<>();
    Application application =
        Application.of(
            Deployment.of(
                    "one",
                    replica -> {
                      int number = made.size();
                      made.add(number);
                      return (AsyncHandler) (request, context) -> Apps.text("handler " + number);
                    })
                .withSpreadOverLoops(true));
    berth = TestBerth.of(application).eventLoops(2).start();
    assertThat(made).hasSize(2);
    assertThat(berth.replicas("one")).hasSize(1);
    Response first = berth.await(berth.handleOn(0, "one").call(Request.get("/")));
    Response second = berth.await(berth.handleOn(1, "one").call(Request.get("/")));
    assertThat(berth.text(first)).isNotEqualTo(berth.text(second));
    assertThatThrownBy(() -> berth.handleOn(2, "one")).hasMessage("loop: 2 (expected: 0 to 1)");
  }

  @Test
  void aClosedKitDoesNothingMore() {
    TestBerth berth = TestBerth.start(Apps.echo());
    berth.close();
    berth.close();
    assertThatThrownBy(berth::run).hasMessage("TestBerth: closed (expected: open)");
  }
}

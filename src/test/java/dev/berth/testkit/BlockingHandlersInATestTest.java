package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What runs on real threads, and how the test waits for it. */
class BlockingHandlersInATestTest {
  @AutoClose private TestBerth berth;
  private static final Duration SHORT = Duration.ofMillis(50); // for what never comes
  private static final Duration LONG_ENOUGH = Duration.ofMillis(500); // for a thread to begin

  @Test
  void aBlockingHandlerRunsOnAThreadOfItsOwn() {
    AtomicReference<Thread> handled = new AtomicReference<>();
    berth =
        TestBerth.start(
            Apps.blocking(
                (request, context) -> {
                  handled.set(Thread.currentThread());
                  return Response.text(request.path());
                }));
    assertThat(berth.text(berth.call(Request.get("/x")))).isEqualTo("/x");
    assertThat(handled.get()).isNotSameAs(Thread.currentThread());
  }

  @Test
  void aBlockingHandlerWaitsForItsChild() {
    Application application =
        Application.of(
            Deployment.of(
                "front",
                replica -> {
                  DeploymentHandle back = replica.handle("back");
                  return (BlockingHandler)
                      (request, context) ->
                          back.call(request).toCompletionStage().toCompletableFuture().get();
                }),
            Deployment.async("back", (request, context) -> Apps.text("back " + request.path())));
    berth = TestBerth.start(application);
    assertThat(berth.text(berth.call(Request.get("/x")))).isEqualTo("back /x");
    berth.assertAtRest();
  }

  @Test
  void runDoesNotWaitForABlockingHandlerAndAwaitDoes() {
    CountDownLatch go = new CountDownLatch(1);
    berth = TestBerth.start(Apps.blocking(waitingFor(go)));
    Future<Response> response = berth.handle("one").call(Request.get("/"));
    berth.run();
    assertThat(response.isComplete()).isFalse();
    assertThat(berth.ledger("one").running()).isEqualTo(1);
    go.countDown();
    assertThat(berth.text(berth.await(response))).isEqualTo("went");
  }

  @Test
  void impatienceNamesWhatRunsAndWhere() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    CountDownLatch entered = new CountDownLatch(1);
    berth =
        TestBerth.of(
                Apps.blocking(
                    (request, context) -> {
                      entered.countDown();
                      return waitingFor(never).handle(request, context);
                    }))
            .patience(SHORT)
            .allowUnsettled()
            .start();
    Future<Response> response = berth.handle("one").call(Request.get("/stuck"));
    berth.run();
    assertThat(entered.await(10, TimeUnit.SECONDS)).isTrue();
    assertThatThrownBy(() -> berth.await(response))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("replica default#one#1: 1 request runs: GET /stuck")
        .hasMessageContaining("handler of default#one#1 at " + getClass().getName());
  }

  @Test
  void closeInterruptsWhatStillRuns() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    AtomicBoolean interrupted = new AtomicBoolean();
    TestBerth berth =
        TestBerth.of(
                Apps.blocking(
                    (request, context) -> {
                      entered.countDown();
                      try {
                        new CountDownLatch(1).await();
                      } catch (InterruptedException expected) {
                        interrupted.set(true);
                      }
                      return Response.text("");
                    }))
            .allowUnsettled()
            .start();
    berth.handle("one").call(Request.get("/"));
    berth.run();
    assertThat(entered.await(10, TimeUnit.SECONDS)).isTrue();
    berth.close();
    assertThat(interrupted).isTrue();
  }

  @Test
  void aFutureOfAnotherThreadCompletesAHandler() {
    Vertx vertx = Vertx.vertx();
    try (TestBerth berth =
        TestBerth.start(
            Apps.of(
                (request, context) -> {
                  Promise<Response> answer = Promise.promise();
                  vertx.setTimer(1, fired -> answer.complete(Response.text("from outside")));
                  return answer.future();
                }))) {
      assertThat(berth.text(berth.call(Request.get("/")))).isEqualTo("from outside");
    } finally {
      vertx.close().toCompletionStage().toCompletableFuture().join();
    }
  }

  @Test
  void factoriesMayBlockOnAnotherDeployment() {
    Application application =
        Application.of(
            Deployment.of( // is started before the one it waits for
                "a",
                replica -> {
                  Response warm =
                      replica
                          .handle("b")
                          .call(Request.get("/warm"))
                          .toCompletionStage()
                          .toCompletableFuture()
                          .get();
                  return (AsyncHandler) (request, context) -> Future.succeededFuture(warm);
                }),
            Deployment.async("b", (request, context) -> Apps.text(request.path())));
    berth = TestBerth.start(application);
    assertThat(berth.text(berth.call(Request.get("/")))).isEqualTo("/warm");
  }

  @Test
  void hooksRunOneAtATimeInOrder() {
    List<String> made = new CopyOnWriteArrayList<>();
    Application application =
        Apps.made(
            2,
            replica -> {
              made.add(replica.replicaId() + " begins");
              Thread.yield();
              made.add(replica.replicaId() + " ends");
              return (AsyncHandler) (request, context) -> Apps.text("");
            });
    TestBerth.start(application).close();
    assertThat(made)
        .containsExactly(
            "default#one#1 begins",
            "default#one#1 ends",
            "default#one#2 begins",
            "default#one#2 ends");
  }

  @Test
  void aStartThatNeverEndsIsReported() {
    CountDownLatch never = new CountDownLatch(1);
    Application application =
        Apps.made(
            replica -> {
              never.await();
              return Apps.echo().deployments().get(0).factory().create(replica);
            });
    assertThatThrownBy(() -> TestBerth.of(application).patience(LONG_ENOUGH).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("application default did not start")
        .hasMessageContaining("hook at " + getClass().getName());
    never.countDown();
  }

  private static BlockingHandler waitingFor(CountDownLatch latch) {
    return (request, context) -> {
      latch.await();
      return Response.text("went");
    };
  }
}

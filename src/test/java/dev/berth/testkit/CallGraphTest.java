package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Requests whose handlers call others, two levels down: what ends above ends below. */
class CallGraphTest {
  @AutoClose private TestBerth berth;
  private final List<String> seen = new ArrayList<>();

  /** {@code top} calls {@code middle}, which calls {@code leaf}, which takes an hour. */
  private Application application() {
    return Application.of(
        Deployment.async("top", passing("middle")),
        Deployment.async("middle", passing("leaf")),
        Deployment.async(
                "leaf",
                (request, context) -> {
                  String session = context.sessionId().orElse("");
                  long left = context.remaining().map(Duration::toMillis).orElse(-1L);
                  seen.add(context.requestId() + " " + session + " " + left);
                  return context.after(Duration.ofHours(1)).map(none -> Response.text("late"));
                })
            .withMaxOngoingRequests(1));
  }

  private static AsyncHandler passing(String next) {
    return (request, context) -> context.handle(next).call(request);
  }

  private static DeploymentHandle top(TestBerth berth, Duration timeout) {
    return berth.handle("top").withTimeout(timeout).withRequestId("r-1").withSessionId("s-1");
  }

  @Test
  void aLeafKnowsTheRequestTheSessionAndTheTimeLeftOfItsRoot() {
    berth = TestBerth.start(application());
    Pending<Response> call = top(berth, Duration.ofSeconds(3)).start(Request.get("/"));
    berth.run();
    assertThat(seen).containsExactly("r-1 s-1 3000");
    call.cancel();
    berth.run();
    berth.assertAtRest();
  }

  @Test
  void cancellingTheRootFreesTheSlotOfTheLeaf() {
    berth = TestBerth.start(application());
    Pending<Response> call = top(berth, Duration.ofSeconds(60)).start(Request.get("/"));
    Future<Response> waits = berth.handle("top").call(Request.get("/second"));
    berth.run();
    assertThat(berth.ledger("leaf").running()).isEqualTo(1);
    assertThat(berth.queued("leaf")).isEqualTo(1);

    call.cancel();
    berth.run();

    assertThat(call.future().cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(berth.queued("leaf")).as("the second has the leaf's slot").isZero();
    assertThat(seen).hasSize(2);
    berth.advance(Duration.ofHours(1));
    assertThat(berth.text(berth.await(waits))).isEqualTo("late");
    berth.assertAtRest();
  }

  @Test
  void whatWaitsForALeafLeavesItsQueueWithItsRoot() {
    berth = TestBerth.start(application());
    ReplicaSelection held = berth.await(berth.handle("leaf").choose());
    Pending<Response> call = top(berth, Duration.ofSeconds(60)).start(Request.get("/"));
    berth.run();
    assertThat(berth.queued("leaf")).isEqualTo(1);
    call.cancel();
    berth.run();
    assertThat(berth.queued("leaf")).isZero();
    held.close();
    assertThat(seen).isEmpty();
    berth.assertAtRest();
  }

  @Test
  void theDeadlineOfTheRootEndsTheLeaf() {
    berth = TestBerth.start(application());
    Future<Response> response = top(berth, Duration.ofSeconds(3)).call(Request.get("/"));
    berth.run();
    berth.advance(Duration.ofMillis(3_100));
    assertThat(response.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(berth.ledger("leaf").running()).isZero();
    berth.assertAtRest();
  }

  @Test
  void aFullLeafIsTheRootsBackPressure() {
    berth = TestBerth.of(application()).set("leaf", "max_queued_requests", 1).start();
    ReplicaSelection held = berth.await(berth.handle("leaf").choose());
    Pending<Response> waits = top(berth, Duration.ofSeconds(3)).start(Request.get("/"));
    berth.run();
    Throwable failure =
        berth.awaitFailure(top(berth, Duration.ofSeconds(3)).call(Request.get("/")));
    assertThat(failure).isInstanceOf(BerthException.BackPressure.class);
    waits.cancel();
    berth.run();
    held.close();
    berth.assertAtRest();
  }

  @Test
  void aChildThatItsParentDoesNotAwaitRunsOnWhenTheParentEnds() {
    Application fireAndForget =
        Application.of(
            Deployment.async(
                "top",
                (request, context) -> {
                  context.handle("leaf").call(request);
                  return Apps.text("started");
                }),
            application().deployments().get(2));
    berth = TestBerth.start(fireAndForget);
    assertThat(berth.text(berth.call(Request.get("/")))).isEqualTo("started");
    berth.run();
    assertThat(berth.ledger("leaf").running()).isEqualTo(1);
    berth.advance(Duration.ofHours(1));
    berth.assertAtRest();
  }

  @Test
  void theBareHandleOfAReplicaCarriesNothing() {
    Application outside =
        Application.of(
            Deployment.of(
                "top",
                replica -> {
                  DeploymentHandle leaf = replica.handle("leaf");
                  return (AsyncHandler) (request, context) -> leaf.call(request);
                }),
            application().deployments().get(2));
    berth = TestBerth.of(outside).allowUnsettled().start();
    Pending<Response> call = top(berth, Duration.ofSeconds(3)).start(Request.get("/"));
    berth.run();
    assertThat(seen).hasSize(1).noneMatch(line -> line.startsWith("r-1") || line.contains("s-1"));
    assertThat(seen.get(0)).endsWith(" -1");
    call.cancel();
    berth.run();
    assertThat(berth.ledger("leaf").running()).isEqualTo(1);
  }

  @Test
  void aChildMayHaveLessTimeAndAnotherNameAndNeverMoreTime() {
    Application hurried =
        Application.of(
            Deployment.async(
                "top",
                (request, context) ->
                    context
                        .handle("leaf")
                        .withTimeout(
                            Duration.ofSeconds(Long.parseLong(request.path().substring(1))))
                        .withRequestId("own")
                        .call(request)),
            application().deployments().get(2).withMaxOngoingRequests(2));
    berth = TestBerth.start(hurried);
    top(berth, Duration.ofSeconds(3)).call(Request.get("/1"));
    top(berth, Duration.ofSeconds(3)).call(Request.get("/60"));
    berth.run();
    assertThat(seen).containsExactly("own s-1 1000", "own s-1 3000");
    berth.advance(Duration.ofSeconds(4));
    berth.assertAtRest();
  }

  @Test
  void aNameThatIsNoDeploymentFailsItsRequestAlone() {
    Application wrong =
        Application.of(
            Deployment.async("top", (request, context) -> context.handle("no-such").call(request)));
    berth = TestBerth.start(wrong);
    Throwable failure = berth.awaitFailure(berth.handle("top").call(Request.get("/")));
    assertThat(failure).isInstanceOf(BerthException.HandlerFailed.class);
    assertThat(berth.handlerFailures().get(0))
        .hasMessageContaining("deployment: no-such (expected: one of application default");
    berth.assertAtRest();
  }
}

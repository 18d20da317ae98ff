package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Application;
import dev.berth.api.BerthException;
import dev.berth.api.CallOptions;
import dev.berth.api.Deployment;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.api.Selections;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Slots of several deployments, all or none, as a user's test has them. */
class SeveralSlotsInATestTest {
  @AutoClose private TestBerth berth;

  private static Deployment naming(String name) {
    return Deployment.async(name, (request, context) -> Apps.text(context.replicaId()));
  }

  /** A front, and behind it two slots of decode, one on each replica, and one of prefill. */
  private static Application application() {
    return Application.of(
        Deployment.async(
            "front",
            (request, context) ->
                Selections.withAll(
                    List.of(context.handle("prefill"), context.handle("decode")),
                    held ->
                        held.get(0)
                            .dispatch(request)
                            .compose(first -> held.get(1).dispatch(request)))),
        naming("prefill"),
        naming("decode").withNumReplicas(2));
  }

  private static TestBerth pair() {
    return TestBerth.of(application())
        .set("prefill", "max_ongoing_requests", 1)
        .set("decode", "max_ongoing_requests", 1)
        .start();
  }

  @Test
  void aHandlerHoldsASlotOfEachAndLeavesNothingBehind() {
    berth = pair();
    Response response = berth.call(Request.get("/"));
    assertThat(berth.text(response)).startsWith("default#decode#");
    berth.assertAtRest();
  }

  @Test
  void handlesOfTwoLoopsAreChosenTogether() {
    berth = TestBerth.of(application()).eventLoops(2).start();
    Selections held =
        berth.await(Selections.all(berth.handleOn(1, "prefill"), berth.handleOn(0, "decode")));
    assertThat(held.selections())
        .extracting(each -> each.deployment().name())
        .containsExactly("prefill", "decode");
    berth.await(held.close());
    berth.assertAtRest();
  }

  @Test
  void theDeadlineEndsTheWaitForAll() {
    berth = pair();
    Selections held = berth.await(Selections.all(berth.handle("prefill")));
    CallOptions second = CallOptions.defaults().withTimeout(Duration.ofSeconds(1));
    Future<Selections> waiting =
        Selections.all(berth.handle("prefill"), berth.handle("decode").options(second));
    berth.run();
    assertThat(berth.ledger("decode").reserved()).isEqualTo(1);
    berth.advance(Duration.ofSeconds(1));
    assertThat(berth.awaitFailure(waiting)).isInstanceOf(BerthException.Timeout.class);
    assertThat(berth.ledger("decode").reserved()).isZero();
    berth.await(held.close());
    berth.assertAtRest();
  }

  @Test
  void aReplicaThatIsKilledWhileOthersAreWaitedForIsReplaced() {
    berth = pair();
    Selections held = berth.await(Selections.all(berth.handle("prefill")));
    ReplicaSelection other = berth.await(berth.handle("decode").choose());
    Future<Selections> waiting = Selections.all(berth.handle("prefill"), berth.handle("decode"));
    berth.run();
    assertThat(berth.ledger("decode").reserved()).isEqualTo(2);
    for (TestReplica replica : berth.replicas("decode")) {
      if (!replica.id().equals(other.replicaId())) {
        berth.killReplica(replica.id());
      }
    }
    berth.await(other.close());
    berth.await(held.close());
    Selections both = berth.await(waiting);
    assertThat(both.get(1).replicaId()).isEqualTo(other.replicaId());
    berth.await(both.close());
  }
}

package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Choose and dispatch, which Ray Serve's local testing mode has not. */
class ChooseInATestTest {
  @AutoClose private TestBerth berth;

  @Test
  void aRequestIsDispatchedToTheReplicaThatWasChosen() {
    berth = TestBerth.start(Apps.naming(3));
    ReplicaSelection selection = berth.await(berth.handle("one").choose());
    assertThat(berth.ledger("one").reserved()).isEqualTo(1);
    Response response = berth.await(selection.dispatch(Request.get("/")));
    assertThat(berth.text(response)).isEqualTo(selection.replicaId());
    berth.assertAtRest();
  }

  @Test
  void aClosedSelectionGivesItsSlotBack() {
    berth = TestBerth.start(Apps.naming(1));
    ReplicaSelection selection = berth.await(berth.handle("one").choose());
    berth.await(selection.close());
    assertThat(berth.ledger("one").reserved()).isZero();
    assertThat(berth.ledger("one").released()).isEqualTo(1);
    assertThat(berth.awaitFailure(selection.dispatch(Request.get("/"))))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void withSelectionClosesWhateverHappensInside() {
    berth = TestBerth.start(Apps.naming(1));
    DeploymentHandle one = berth.handle("one");
    assertThat(
            berth.awaitFailure(
                one.withSelection(
                    selection -> {
                      throw new IllegalArgumentException("inside");
                    })))
        .hasMessage("inside");
    berth.assertAtRest();
    Response response =
        berth.await(one.withSelection(selection -> selection.dispatch(Request.get("/"))));
    assertThat(berth.text(response)).isEqualTo("default#one#1");
  }

  @Test
  void aRenewedLeaseLastsItsFullTimeAgain() {
    berth = TestBerth.start(Apps.naming(1));
    ReplicaSelection selection = berth.await(berth.handle("one").choose());
    berth.advance(Duration.ofSeconds(9));
    assertThat(berth.await(selection.renew())).isTrue();
    berth.advance(Duration.ofSeconds(9));
    berth.await(selection.dispatch(Request.get("/")));
  }

  @Test
  void aChooseWaitsForASlotAsACallDoes() {
    berth = TestBerth.of(Apps.naming(1)).set("one", "max_ongoing_requests", 1).start();
    ReplicaSelection first = berth.await(berth.handle("one").choose());
    Future<ReplicaSelection> second = berth.handle("one").choose();
    berth.run();
    assertThat(second.isComplete()).isFalse();
    assertThat(berth.queued("one")).isEqualTo(1);
    first.close();
    berth.await(berth.await(second).close());
  }

  @Test
  void aSelectionOfAKilledReplicaIsUnavailable() {
    berth = TestBerth.start(Apps.naming(2));
    ReplicaSelection selection = berth.await(berth.handle("one").choose());
    berth.killReplica(selection.replicaId());
    assertThat(berth.awaitFailure(selection.dispatch(Request.get("/"))))
        .isInstanceOf(BerthException.ReplicaUnavailable.class);
    assertThat(berth.text(berth.call(Request.get("/")))).isNotEqualTo(selection.replicaId());
  }
}

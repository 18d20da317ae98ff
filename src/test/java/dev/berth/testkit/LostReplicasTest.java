package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.fakes.Answering;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Replicas that stop or die while a test looks. */
class LostReplicasTest {
  @AutoClose private TestBerth berth;

  @Test
  void whatAKilledReplicaRanHasAnUnknownOutcome() {
    Apps.Gate gate = new Apps.Gate();
    berth = TestBerth.start(Apps.of(gate));
    Future<Response> response = berth.handle("one").call(Request.get("/"));
    berth.run();
    berth.killReplica("default#one#1");
    assertThat(berth.awaitFailure(response)).isInstanceOf(BerthException.OutcomeUnknown.class);
    assertThat(berth.replicas("one"))
        .singleElement()
        .satisfies(replica -> assertThat(replica.state()).isEqualTo("STOPPED"));
    gate.open();
    berth.run();
    assertThat(berth.replicas("one")).isEmpty();
  }

  @Test
  void aDeploymentThatLostItsLastReplicaIsUnavailable() {
    berth = TestBerth.start(Apps.echo());
    berth.killReplica("default#one#1");
    assertThatThrownBy(() -> berth.call(Request.get("/")))
        .isInstanceOf(BerthException.DeploymentUnavailable.class);
    assertThatThrownBy(() -> berth.killReplica("default#one#1"))
        .hasMessage("replicaId: default#one#1 (expected: one of [])");
  }

  @Test
  void aStoppedReplicaFinishesWhatItAcceptedAndThenStopsItsHandler() {
    List<String> stopped = new CopyOnWriteArrayList<>();
    Apps.Gate gate = new Apps.Gate();
    Application application =
        Apps.made(
            replica ->
                new AsyncHandler() {
                  @Override
                  public Future<Response> handle(Request request, RequestContext context) {
                    return gate.handle(request, context);
                  }

                  @Override
                  public void stop() {
                    stopped.add(replica.replicaId());
                  }
                });
    try (TestBerth berth = TestBerth.start(application)) {
      Future<Response> response = berth.handle("one").call(Request.get("/"));
      berth.run();
      berth.stopReplica("default#one#1");
      assertThat(berth.replicas("one").get(0).state()).isEqualTo("DRAINING");
      assertThat(stopped).isEmpty();
      gate.open();
      berth.await(response);
      berth.run();
      assertThat(stopped).containsExactly("default#one#1");
      assertThat(berth.replicas("one")).isEmpty();
    }
    assertThat(stopped).hasSize(1);
  }

  @Test
  void aReplicaThatOutlastsItsGraceIsKilled() {
    Apps.Gate gate = new Apps.Gate();
    berth = TestBerth.of(Apps.of(gate)).set("one", "graceful_shutdown_timeout_s", 20).start();
    Future<Response> response = berth.handle("one").call(Request.get("/"));
    berth.run();
    berth.stopReplica("default#one#1");
    berth.advance(Duration.ofSeconds(19));
    assertThat(response.isComplete()).isFalse();
    berth.advance(Duration.ofSeconds(1));
    assertThat(berth.awaitFailure(response)).isInstanceOf(BerthException.OutcomeUnknown.class);
    gate.open();
  }

  @Test
  void aLostReplicaIsReplacedWhenTheTestAsks() {
    berth = TestBerth.start(Apps.echo());
    berth.killReplica("default#one#1");
    berth.advance(Duration.ofHours(1));
    assertThat(berth.replicas("one")).isEmpty();
    berth.replaceReplicas();
    assertThat(berth.replicas("one")).extracting(TestReplica::id).containsExactly("default#one#2");
    assertThat(berth.call(Request.get("/")).status()).isEqualTo(200);
    berth.stopReplica("default#one#2");
    assertThatThrownBy(() -> berth.call(Request.get("/")))
        .isInstanceOf(BerthException.DeploymentUnavailable.class);
    berth.replaceReplicas();
    assertThat(berth.call(Request.get("/")).status()).isEqualTo(200);
  }

  @Test
  void aReplacementGoesOnWhereAnotherReplicaServes() {
    berth = TestBerth.of(Apps.echo()).set("one", "num_replicas", 2).start();
    berth.killReplica("default#one#1");
    assertThat(berth.call(Request.get("/")).status()).isEqualTo(200);
    berth.replaceReplicas();
    assertThat(berth.replicas("one"))
        .extracting(TestReplica::id)
        .containsExactlyInAnyOrder("default#one#2", "default#one#3");
    berth.replaceReplicas(); // nothing is held
    assertThat(berth.replicas("one")).hasSize(2);
  }

  @Test
  void aReplacementThatDoesNotStartIsReported() {
    List<String> made = new CopyOnWriteArrayList<>();
    Application application =
        Apps.made(
            replica -> {
              made.add(replica.replicaId());
              if (made.size() == 2) {
                throw new IllegalStateException("no model");
              }
              return (AsyncHandler) (request, context) -> Apps.text("here");
            });
    berth = TestBerth.start(application);
    berth.killReplica("default#one#1");
    assertThatThrownBy(berth::replaceReplicas).hasMessageContaining("no model");
    berth.advance(Duration.ofMinutes(1)); // the controller waits, and would try again
    assertThat(made).hasSize(2);
    berth.replaceReplicas();
    assertThat(berth.text(berth.call(Request.get("/")))).isEqualTo("here");
  }

  @Test
  void closingStopsEveryHandler() {
    List<String> stopped = new CopyOnWriteArrayList<>();
    Application application =
        Apps.made(
            2,
            replica ->
                new Answering("") {
                  @Override
                  public void stop() {
                    stopped.add(replica.replicaId());
                  }
                });
    TestBerth.start(application).close();
    assertThat(stopped).containsExactlyInAnyOrder("default#one#1", "default#one#2");
  }
}

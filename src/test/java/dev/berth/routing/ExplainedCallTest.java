package dev.berth.routing;

import static dev.berth.fakes.Explained.step;
import static dev.berth.fakes.Explained.story;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeParent;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.RequestFailure;
import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.RequestPhaseTimes;
import dev.berth.view.RequestExplanation.RequestStep;
import dev.berth.view.RequestExplanation.RequestStep.RequestStepKind;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a handler asks of others, while its own request is explained. */
class ExplainedCallTest {
  private static final long MS = 1_000_000;

  private final RoutingWorld world = new RoutingWorld();
  private final FakeParent parent = new FakeParent();
  private final DeploymentHandle handle = world.handle().within(parent);

  @BeforeEach
  void explainAll() {
    parent.explainedCalls = Integer.MAX_VALUE;
  }

  private RoutingWorld.Replica replica(String where) {
    return world.published(where.equals("here") ? world.local("a", 1) : world.remote("a", 1));
  }

  private RequestExplanation only() {
    assertThat(world.explained).hasSize(1);
    return world.explained.get(0);
  }

  private ReplicaSelection choose() {
    return world.settled(handle.choose()).result();
  }

  @ParameterizedTest
  @ValueSource(strings = {"here", "there"})
  void aChildIsExplainedUnderItsParentsId(String where) {
    RoutingWorld.Replica replica = replica(where);
    world.settled(handle.withRequestId("own").call(Request.get("/child")));
    world.clock.advanceNanos(5 * MS);
    world.handlerTime = new HandlerTime(0, 4 * MS, RequestFailure.NONE);
    replica.finish();

    RequestExplanation record = only();
    assertThat(record.requestId()).isEqualTo(parent.requestId());
    assertThat(record.parent()).isEqualTo(parent.deployment());
    assertThat(record.request()).isEqualTo("GET /child");
    assertThat(record.status()).isEqualTo(-1);
    assertThat(record.outcome()).isEqualTo("ok");
    assertThat(record.phases())
        .isEqualTo(new RequestPhaseTimes(0, 0, 0, 0, MS, 4 * MS, 0, 0, 5 * MS));
    assertThat(step(record, RequestStepKind.SENT).detail())
        .isEqualTo(where.equals("here") ? "its slot held" : "if a slot is free");
    assertThat(world.sent.get(0)).extracting("explained").isEqualTo(true);
  }

  @Test
  void aMethodIsNamedByItsName() {
    RoutingWorld.Replica replica = replica("here");
    world.settled(handle.method("count").call(Request.get("/")));
    replica.finish();
    assertThat(only().request()).isEqualTo("count");
  }

  @Test
  void aChildThatFailsOrIsCancelledIsExplainedOnce() {
    RoutingWorld.Replica replica = replica("here");
    handle.call(Request.get("/fails"));
    world.settled(handle.call(Request.get("/waits")));
    replica.fail("no");
    assertThat(only().outcome()).isEqualTo("handler_failed");
    assertThat(only().failure())
        .isEqualTo(
            new RequestFailure(
                only().deployment().toString(),
                BerthException.HandlerFailed.class.getName(),
                "no"));

    world.run(parent::cancel);
    assertThat(world.explained)
        .extracting(RequestExplanation::outcome)
        .containsExactly("handler_failed", "cancelled");
    assertThat(story(world.explained.get(1))).contains("CANCELLED");
  }

  @Test
  void whatItsHandlerFailedWithIsKeptAndItsParentIsTold() {
    RequestFailure why = new RequestFailure("shop#cart", "java.lang.Error", "sold out");
    RoutingWorld.Replica replica = replica("there");
    Future<Response> response = world.settled(handle.call(Request.get("/fails")));
    world.handlerTime = new HandlerTime(0, MS, why);
    replica.fail("told");
    assertThat(only().failure()).isEqualTo(why);
    assertThat(parent.failedCalls).containsExactly(why);
    assertThat(response.cause()).hasMessage("told");
  }

  @Test
  void moreCallsThanTheParentMayExplainAreMadeAllTheSame() {
    RoutingWorld.Replica replica = world.published(world.local("a", 4));
    parent.explainedCalls = 2;
    for (int call = 0; call < 4; call++) {
      handle.call(Request.get("/"));
    }
    world.run();
    replica.finishAll();
    assertThat(replica.executions).isEqualTo(4);
    assertThat(world.explained).hasSize(2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"here", "there"})
  void chooseAndDispatchIsOneRecordWithItsLease(String where) {
    RoutingWorld.Replica replica = replica(where);
    ReplicaSelection selection = choose();
    world.clock.advanceNanos(7 * MS);
    world.settled(selection.renew());
    Future<Response> response = world.settled(selection.dispatch(Request.get("/dispatched")));
    world.clock.advanceNanos(3 * MS);
    world.handlerTime = new HandlerTime(0, 3 * MS, RequestFailure.NONE);
    replica.finish();

    assertThat(response.succeeded()).isTrue();
    RequestExplanation record = only();
    assertThat(record.request()).isEqualTo("GET /dispatched");
    assertThat(record.replicaId()).isEqualTo("a");
    assertThat(story(record))
        .matches(
            ".*ARRIVED .*LEASE_GRANTED .*LEASE_RENEWED .*LEASE_CONSUMED .*SENT"
                + " .*HANDLER_SETTLED .*ANSWERED .*ENDED");
    assertThat(record.steps())
        .filteredOn(step -> step.kind() == RequestStepKind.SENT)
        .extracting(RequestStep::detail)
        .isEqualTo(
            where.equals("here") ? List.of("its slot held") : List.of("reserve", "by its lease"));
    assertThat(record.phases().held()).isEqualTo(7 * MS);
    assertThat(record.phases().handler()).isEqualTo(3 * MS);
    assertThat(record.phases().overhead()).isZero();
    assertThat(record.toString()).doesNotContain("Token");
  }

  @ParameterizedTest
  @CsvSource({
    "here, released, LEASE_RELEASED",
    "there, released, LEASE_RELEASED",
    "here, expired, LEASE_EXPIRED",
    "there, expired, LEASE_EXPIRED"
  })
  void aSelectionThatIsClosedOrRunsOutEndsItsRecord(
      String where, String outcome, RequestStepKind how) {
    replica(where);
    ReplicaSelection selection = choose();
    if (outcome.equals("released")) {
      selection.close();
    }
    world.pass(Duration.ofSeconds(11));
    assertThat(only().outcome()).isEqualTo(outcome);
    assertThat(story(only())).containsSubsequence("LEASE_GRANTED", how.name(), "ENDED");
  }

  @Test
  void aChooseThatFailsEndsItsRecord() {
    world.publish(false);
    world.settled(handle.choose());
    assertThat(only().outcome()).isEqualTo("deployment_unavailable");
    assertThat(only().request()).isEmpty();
  }

  @Test
  void aDispatchWhoseLeaseIsGoneTellsTheRefusal() {
    RoutingWorld.Replica replica = replica("there");
    ReplicaSelection selection = choose();
    world.clock.advanceNanos(Duration.ofSeconds(10).toNanos() - 1);
    Future<Response> response = selection.dispatch(Request.get("/late"));
    world.clock.advanceNanos(2);
    world.run(replica.ledger::sweep);
    assertThat(response.failed()).isTrue();
    assertThat(only().outcome()).isEqualTo("reservation_expired");
    assertThat(step(only(), RequestStepKind.REFUSED).detail()).isEqualTo("EXPIRED");
    assertThat(only().replicaId()).isEmpty();
  }

  @Test
  void everyAnswerOfABroadcastIsExplained() {
    RoutingWorld.Replica a = world.local("a", 1);
    RoutingWorld.Replica b = world.published(world.remote("b", 1));
    world.settled(handle.broadcast(Request.get("/all")));
    a.respond();
    b.finish();
    assertThat(world.explained)
        .extracting(RequestExplanation::replicaId)
        .containsExactlyInAnyOrder("a", "b");
  }

  @Test
  void callsOfARequestThatIsNotExplainedAreNot() {
    RoutingWorld.Replica replica = replica("here");
    parent.explainedCalls = 0;
    world.settled(choose().close());
    world.settled(handle.call(Request.get("/")));
    replica.finish();
    assertThat(world.explained).isEmpty();
  }
}

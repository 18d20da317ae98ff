package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.BroadcastAnswer;
import dev.berth.api.CallOptions;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.api.StreamedResponse;
import dev.berth.fakes.Answering;
import io.vertx.core.Future;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The rest of a handle and of a handler, under the kit. */
class WholeApiTest {
  @AutoClose private TestBerth berth;

  @Test
  void aBroadcastReachesEveryReplica() {
    berth = TestBerth.start(Apps.naming(3));
    List<BroadcastAnswer> answers = berth.await(berth.handle("one").broadcast(Request.get("/")));
    assertThat(answers)
        .extracting(BroadcastAnswer::replicaId)
        .containsExactlyInAnyOrder("default#one#1", "default#one#2", "default#one#3");
    berth.assertAtRest();
  }

  @Test
  void aChooseIsCancelledWhileItWaits() {
    berth = TestBerth.of(Apps.echo()).set("one", "max_ongoing_requests", 1).start();
    DeploymentHandle one = berth.handle("one");
    var held = berth.await(one.choose());
    Pending<ReplicaSelection> waits = one.startChoose();
    berth.run();
    waits.cancel();
    assertThat(berth.awaitFailure(waits.future())).isInstanceOf(BerthException.Cancelled.class);
    berth.await(held.close());
  }

  @Test
  void aNamedMethodIsCalledForASession() {
    Application application =
        Apps.made(
            replica ->
                new Answering("handle") {
                  @Override
                  public Map<String, ReplicaHandler> methods() {
                    return Map.of(
                        "other",
                        (AsyncHandler)
                            (request, context) ->
                                Apps.text(context.methodName() + context.sessionId().get()));
                  }
                });
    berth = TestBerth.start(application);
    CallOptions options = CallOptions.defaults().withMethodName("other").withSessionId("/me");
    Response answer = berth.await(berth.handle("one").options(options).call(Request.get("/")));
    assertThat(berth.text(answer)).isEqualTo("other/me");
    assertThat(berth.text(berth.call(Request.get("/")))).isEqualTo("handle");
  }

  @Test
  void aStreamIsReadAsItComes() {
    Application application =
        Apps.of(
            (request, context) ->
                Future.succeededFuture(
                    Response.stream(
                        "text/plain",
                        writer ->
                            writer
                                .write("a")
                                .compose(none -> context.after(Duration.ofSeconds(1)))
                                .compose(none -> writer.write("b")))));
    berth = TestBerth.start(application);
    StreamedResponse response = berth.await(berth.handle("one").stream(Request.get("/")));
    List<String> pieces = new ArrayList<>();
    response.body().handler(piece -> pieces.add(piece.toString()));
    response.body().endHandler(end -> pieces.add("end"));
    response.body().resume();
    berth.run();
    assertThat(pieces).containsExactly("a");
    berth.advance(Duration.ofSeconds(1));
    assertThat(pieces).containsExactly("a", "b", "end");
  }

  @Test
  void aStreamThatIsNotReadHoldsItsSlotAndIsReported() {
    Application application =
        Apps.of(
            (request, context) ->
                Future.succeededFuture(
                    Response.stream("text/plain", writer -> writer.write("x".repeat(1 << 20)))));
    berth = TestBerth.of(application).allowUnsettled().start();
    StreamedResponse response = berth.await(berth.handle("one").stream(Request.get("/big")));
    assertThat(berth.unsettled())
        .containsExactly("replica default#one#1: 1 request runs: GET /big");
    response.cancel().run();
    berth.run();
    berth.assertAtRest();
  }

  @Test
  void handlersSeeTheTimeOfDayOfTheTest() {
    List<Instant> arrivals = new ArrayList<>();
    berth =
        TestBerth.start(
            Apps.of(
                (request, context) -> {
                  arrivals.add(context.arrivedAtReplica());
                  return Apps.text("");
                }));
    berth.call(Request.get("/"));
    berth.advance(Duration.ofMinutes(1));
    berth.call(Request.get("/"));
    assertThat(arrivals)
        .containsExactly(
            Instant.parse("2000-01-01T00:00:00Z"), Instant.parse("2000-01-01T00:01:00Z"));
    assertThat(berth.now()).isEqualTo(Instant.parse("2000-01-01T00:01:00Z"));
  }
}

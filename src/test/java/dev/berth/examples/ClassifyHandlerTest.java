package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Application;
import dev.berth.api.BerthException;
import dev.berth.api.Deployment;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.testkit.TestBerth;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Its ingress, in front of a model that the test answers for. */
class ClassifyHandlerTest {
  private static final Buffer ZEROS = Buffer.buffer("[" + "0,".repeat(63) + "0]");
  private static final Buffer PNG = Buffer.buffer("stands for a PNG");

  private final List<Request> asked = new ArrayList<>();
  private final List<RequestContext> contexts = new ArrayList<>();
  private Promise<Response> answer = Promise.promise();
  private final TestBerth berth =
      TestBerth.start(
          Application.of(
              Deployment.async("classify", new ClassifyHandler()),
              Deployment.async(
                      "digits",
                      (request, context) -> {
                        asked.add(request);
                        contexts.add(context);
                        context.onCancel(() -> answer.tryFail("cancelled"));
                        return answer.future();
                      })
                  .withMaxOngoingRequests(1)));

  @AfterEach
  void nothingIsLeft() {
    answer.tryComplete(Response.text("over"));
    berth.run();
    berth.assertAtRest();
    berth.close();
  }

  private Pending<Response> start(Request request) {
    Pending<Response> call =
        berth
            .handle("classify")
            .withTimeout(Duration.ofSeconds(3))
            .withRequestId("r")
            .start(request);
    berth.run();
    return call;
  }

  private Response call(Request request) {
    return Answers.of(start(request).future());
  }

  @Test
  void answerOfTheModelIsPassedOnWithItsHeaders() {
    Future<Response> answered = start(Answers.post("image/png", PNG)).future();
    assertThat(answered.isComplete()).isFalse();
    answer.complete(Response.json(200, "{\"digit\":4}").withHeader("X-Berth-Replica", "r1"));
    berth.run();
    Response response = Answers.of(answered);
    assertThat(response.status()).isEqualTo(200);
    assertThat(response.headers().get("x-berth-replica")).isEqualTo("r1");
    assertThat(Answers.body(response)).hasToString("{\"digit\":4}");
  }

  @Test
  void aPngGoesOnAsItCame() {
    start(Answers.post("IMAGE/PNG; q=1", PNG));
    assertThat(asked.get(0).headers().get("content-type")).isEqualTo("image/png");
    assertThat(asked.get(0).bytes()).isEqualTo(PNG);
  }

  @Test
  void jsonGoesOnAsPixels() throws BadInput {
    start(Answers.post("application/json; charset=utf-8", ZEROS));
    assertThat(asked.get(0).headers().get("content-type")).isEqualTo(Pixels.MEDIA_TYPE);
    assertThat(Pixels.fromBuffer(asked.get(0).bytes()).values()).containsOnly(0);
  }

  @Test
  void badPixelsAreRefusedWithoutACall() {
    Answers.assertRefused(
        call(Answers.post("application/json", Buffer.buffer("[1]"))),
        400,
        "pixels",
        "an array of 1",
        "64 numbers, or 8 rows of 8 numbers");
    assertThat(berth.ledger("digits").granted()).isZero();
  }

  @Test
  void anotherContentTypeIsRefused() {
    Answers.assertRefused(
        call(Answers.post("image/gif", PNG)),
        415,
        "content-type",
        "image/gif",
        "application/json or image/png");
    Answers.assertRefused(
        call(Request.post("/", PNG)),
        415,
        "content-type",
        "absent",
        "application/json or image/png");
    assertThat(berth.ledger("digits").granted()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "PUT", "DELETE", "HEAD"})
  void anotherMethodIsToldWhichIsAllowed(String method) {
    Response response = call(Request.of(method, "/", null, Request.get("/").headers(), PNG));
    Answers.assertRefused(response, 405, "method", method, "POST");
    assertThat(response.headers().get("allow")).isEqualTo("POST");
    assertThat(berth.ledger("digits").granted()).isZero();
  }

  @Test
  void theRequestsIdAndTheTimeItHasLeftGoWithTheCall() {
    start(Answers.post("image/png", PNG));
    assertThat(contexts.get(0).requestId()).isEqualTo("r");
    assertThat(contexts.get(0).remaining()).contains(Duration.ofSeconds(3));
  }

  @Test
  void aRequestThatRunsOutOfTimeTakesItsCallWithIt() {
    Future<Response> answered = start(Answers.post("image/png", PNG)).future();
    berth.advance(Duration.ofMillis(3_100));
    assertThat(answered.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(answer.future().failed()).isTrue();
  }

  @Test
  void cancellingTheRequestCancelsTheCall() {
    Pending<Response> call = start(Answers.post("image/png", PNG));
    assertThat(answer.future().isComplete()).isFalse();
    call.cancel();
    berth.run();
    assertThat(answer.future().failed()).isTrue();
  }

  @Test
  void nothingIsChosenForARequestWhoseCallerLeft() {
    ReplicaSelection full = berth.await(berth.handle("digits").choose());
    Pending<Response> call = start(Answers.post("image/png", PNG));
    call.cancel();
    berth.run();
    full.close();
    berth.run();
    assertThat(call.future().cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(asked).isEmpty();
  }

  @Test
  void aFailureOfTheReplicaKeepsItsKind() {
    Future<Response> answered = start(Answers.post("image/png", PNG)).future();
    answer.fail(new BerthException.ReplicaUnavailable("gone"));
    berth.run();
    assertThat(answered.cause()).isInstanceOf(BerthException.ReplicaUnavailable.class);
  }
}

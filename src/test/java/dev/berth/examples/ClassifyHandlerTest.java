package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ClassifyHandlerTest {
  private static final Buffer ZEROS = Buffer.buffer("[" + "0,".repeat(63) + "0]");
  private static final Buffer PNG = Buffer.buffer("stands for a PNG");

  private final FakeDigits digits = new FakeDigits();
  private final FakeRequestContext context = new FakeRequestContext();
  private final ClassifyHandler handler = new ClassifyHandler(digits);

  @Test
  void theAnswerIsTheReplicasAndNamesIt() {
    Future<Response> answered = handler.handle(Answers.post("image/png", PNG), context);
    assertThat(answered.isComplete()).isFalse();
    digits.answer.complete(Response.json(200, "{\"digit\":4}"));
    Response response = Answers.of(answered);
    assertThat(response.status()).isEqualTo(200);
    assertThat(response.headers().get("x-berth-replica")).isEqualTo(FakeDigits.REPLICA_ID);
    assertThat(Answers.body(response)).hasToString("{\"digit\":4}");
    assertThat(digits.chosen).isOne();
    assertThat(digits.closed).isOne();
  }

  @Test
  void aPngGoesOnAsItCame() {
    handler.handle(Answers.post("IMAGE/PNG; q=1", PNG), context);
    Request sent = digits.dispatched.get(0);
    assertThat(sent.headers().get("content-type")).isEqualTo("image/png");
    assertThat(sent.bytes()).isEqualTo(PNG);
  }

  @Test
  void jsonGoesOnAsPixels() throws BadInput {
    handler.handle(Answers.post("application/json; charset=utf-8", ZEROS), context);
    Request sent = digits.dispatched.get(0);
    assertThat(sent.headers().get("content-type")).isEqualTo(Pixels.MEDIA_TYPE);
    assertThat(Pixels.fromBuffer(sent.bytes()).values()).containsOnly(0);
  }

  @Test
  void badPixelsAreRefusedWithoutChoosing() {
    Buffer one = Buffer.buffer("[1]");
    Answers.assertRefused(
        Answers.of(handler.handle(Answers.post("application/json", one), context)),
        400,
        "pixels",
        "an array of 1",
        "64 numbers, or 8 rows of 8 numbers");
    assertThat(digits.chosen).isZero();
  }

  @Test
  void anotherContentTypeIsRefused() {
    Answers.assertRefused(
        Answers.of(handler.handle(Answers.post("image/gif", PNG), context)),
        415,
        "content-type",
        "image/gif",
        "application/json or image/png");
    Answers.assertRefused(
        Answers.of(handler.handle(Request.post("/", PNG), context)),
        415,
        "content-type",
        "absent",
        "application/json or image/png");
    assertThat(digits.chosen).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "PUT", "DELETE", "HEAD"})
  void anotherMethodIsToldWhichIsAllowed(String method) {
    Request request = new Request(method, "/", null, Request.get("/").headers(), PNG);
    Response response = Answers.of(handler.handle(request, context));
    Answers.assertRefused(response, 405, "method", method, "POST");
    assertThat(response.headers().get("allow")).isEqualTo("POST");
    assertThat(digits.chosen).isZero();
  }

  @Test
  void theRequestsIdAndTheTimeItHasLeftGoWithTheCall() {
    handler.handle(Answers.post("image/png", PNG), context.withRemaining(Duration.ofMillis(750)));
    assertThat(digits.options.requestId()).isEqualTo(Optional.of("request-1"));
    assertThat(digits.options.timeout()).isEqualTo(Optional.of(Duration.ofMillis(750)));
  }

  @Test
  void aRequestWithoutTimeLeftChoosesNothing() {
    Future<Response> answered =
        handler.handle(Answers.post("image/png", PNG), context.withRemaining(Duration.ZERO));
    assertThat(answered.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(digits.chosen).isZero();
  }

  @Test
  void cancellingTheRequestCancelsTheCall() {
    handler.handle(Answers.post("image/png", PNG), context);
    assertThat(digits.cancelled).isZero();
    context.cancel();
    assertThat(digits.cancelled).isOne();
  }

  @Test
  void aSelectionGrantedAfterTheCallerLeftIsGivenBack() {
    digits.full = true;
    Future<Response> answered = handler.handle(Answers.post("image/png", PNG), context);
    context.cancel();
    digits.grant();
    assertThat(answered.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(digits.dispatched).isEmpty();
    assertThat(digits.closed).isOne();
  }

  @Test
  void aFailureOfTheReplicaKeepsItsKind() {
    Future<Response> answered = handler.handle(Answers.post("image/png", PNG), context);
    digits.answer.fail(new BerthException.ReplicaUnavailable("gone"));
    assertThat(answered.cause()).isInstanceOf(BerthException.ReplicaUnavailable.class);
    assertThat(digits.closed).isOne();
  }
}

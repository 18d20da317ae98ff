package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.BerthException.Kind;
import dev.berth.config.Backpressure;
import dev.berth.config.keys.Settings;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ErrorResponsesTest {
  private static final Settings DEFAULT = Backpressure.DEFAULTS;

  @ParameterizedTest
  @CsvSource({
    "TIMEOUT, 408",
    "CANCELLED, 499",
    "BACK_PRESSURE, 503",
    "DEPLOYMENT_UNAVAILABLE, 503",
    "REPLICA_UNAVAILABLE, 503",
    "RESERVATION_EXPIRED, 503",
    "OUTCOME_UNKNOWN, 502",
    "HANDLER_FAILED, 500"
  })
  void eachKindHasOneStatus(Kind kind, int status) {
    assertThat(ErrorResponses.status(kind, DEFAULT)).isEqualTo(status);
    assertThat(answer(kind.toException("why")).status()).isEqualTo(status);
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void eachKindHasACodeOfItsOwnNameAndAText(Kind kind) {
    ErrorAnswer answer = answer(kind.toException("why"));
    assertThat(answer.code()).isEqualToIgnoringCase(kind.name());
    assertThat(answer.message()).isNotBlank();
  }

  @Test
  void backPressureMayBe429() {
    Settings configured = Backpressure.DEFAULTS.with(Backpressure.STATUS_CODE, 429);
    assertThat(ErrorResponses.status(Kind.BACK_PRESSURE, configured)).isEqualTo(429);
  }

  @Test
  void backPressureTextBeginsAsRays() {
    assertThat(answer(new BerthException.BackPressure("queue full", OptionalInt.empty())).message())
        .isEqualTo("Request dropped due to backpressure: queue full");
    String own = "Request dropped due to backpressure (max_queued_requests: 1).";
    assertThat(answer(new BerthException.BackPressure(own, OptionalInt.empty())).message())
        .isEqualTo(own);
  }

  @Test
  void retryAfterIsTheConfiguredOneThenTheComputedOneAndNeverBelowOne() {
    BerthException computed = new BerthException.BackPressure("full", OptionalInt.of(7));
    BerthException unknown = new BerthException.BackPressure("full", OptionalInt.empty());
    BerthException zero = new BerthException.BackPressure("full", OptionalInt.of(0));
    Settings configured =
        Backpressure.DEFAULTS
            .with(Backpressure.STATUS_CODE, 503)
            .with(Backpressure.RETRY_AFTER_S, Duration.ofSeconds(3));
    Settings none =
        Backpressure.DEFAULTS
            .with(Backpressure.STATUS_CODE, 503)
            .with(Backpressure.RETRY_AFTER_S, Duration.ZERO);
    assertThat(answer(computed).retryAfterSeconds()).hasValue(7);
    assertThat(answer(unknown).retryAfterSeconds()).hasValue(1);
    assertThat(answer(zero).retryAfterSeconds()).hasValue(1);
    assertThat(ErrorResponses.of(computed, "id", -1, configured).retryAfterSeconds()).hasValue(3);
    assertThat(ErrorResponses.of(computed, "id", -1, none).retryAfterSeconds()).hasValue(1);
  }

  @Test
  void whatTheRefusingDeploymentAsksForGoesBeforeWhatItsParentIsConfiguredTo() {
    Settings parent =
        Backpressure.DEFAULTS
            .with(Backpressure.STATUS_CODE, 503)
            .with(Backpressure.RETRY_AFTER_S, Duration.ofSeconds(3));
    BerthException child =
        new BerthException.BackPressure("full", OptionalInt.of(7), OptionalInt.of(429));
    ErrorAnswer answer = ErrorResponses.of(child, "id", -1, parent);
    assertThat(answer.status()).isEqualTo(429);
    assertThat(answer.retryAfterSeconds()).hasValue(7);
    assertThat(ErrorResponses.status(child, parent)).isEqualTo(429);
  }

  @ParameterizedTest
  @EnumSource(value = Kind.class, mode = EnumSource.Mode.EXCLUDE, names = "BACK_PRESSURE")
  void onlyBackPressureSaysWhenToComeBack(Kind kind) {
    assertThat(answer(kind.toException("why")).retryAfterSeconds()).isEmpty();
  }

  @Test
  void aTimeoutNamesTheRequestAndItsBound() {
    BerthException timeout = new BerthException.Timeout("late");
    assertThat(ErrorResponses.of(timeout, "r1", 2_000_000_000L, DEFAULT).message())
        .isEqualTo("Request r1 timed out after 2s.");
    assertThat(ErrorResponses.of(timeout, "r1", 250_000_000L, DEFAULT).message())
        .isEqualTo("Request r1 timed out after 0.25s.");
    assertThat(ErrorResponses.of(timeout, "r1", -1, DEFAULT).message())
        .isEqualTo("Request r1 timed out.");
  }

  @ParameterizedTest
  @EnumSource(
      value = Kind.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = {"BACK_PRESSURE", "DEPLOYMENT_UNAVAILABLE"})
  void nothingOfTheInsideLeaks(Kind kind) {
    String secret = "db password in MyHandler.java:12";
    ErrorAnswer answer = answer(kind.toException(secret));
    assertThat(answer.text().toString()).doesNotContain("password", "MyHandler");
    assertThat(answer.json("r1").toString()).doesNotContain("password", "MyHandler");
  }

  @Test
  void aFailedHandlerIsAnInternalServerErrorAndNoMore() {
    BerthException failed =
        new BerthException.HandlerFailed("boom", new IllegalStateException("inside"));
    assertThat(answer(failed).text().toString()).isEqualTo("Internal Server Error");
  }

  @Test
  void theNotFoundTextIsRays() {
    assertThat(ErrorResponses.notFound("/x").message())
        .isEqualTo("Path '/x' not found. Ping http://.../-/routes for available routes.");
  }

  @Test
  void theJsonFormHasCodeMessageDetailAndRequestId() {
    JsonObject json = new JsonObject(ErrorResponses.notFound("/\"x").json("r1"));
    assertThat(json.fieldNames())
        .containsExactlyInAnyOrder("code", "message", "detail", "request_id");
    assertThat(json.getString("code")).isEqualTo("not_found");
    assertThat(json.getString("message")).contains("/\"x");
    assertThat(json.getString("request_id")).isEqualTo("r1");
  }

  private static ErrorAnswer answer(BerthException failure) {
    return ErrorResponses.of(failure, "id", RequestTimeout.NONE, DEFAULT);
  }
}

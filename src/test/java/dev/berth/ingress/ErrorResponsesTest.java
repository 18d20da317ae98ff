package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.ReservationBody;
import dev.berth.admin.ReservationEndpoint;
import dev.berth.api.BerthException;
import dev.berth.api.BerthException.Kind;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.config.Backpressure;
import dev.berth.config.keys.Settings;
import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.protocol.port.Reservations;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ErrorResponsesTest {
  /** Refuses whatever it is asked. */
  private record Refusing(ReservationException why) implements Reservations {
    @Override
    public ReservationCall<Reservation> reserve(ReservationRequest wish, ReservationCaller caller) {
      throw why;
    }

    @Override
    public ReservationCall<List<Reservation>> reserveAll(
        List<ReservationRequest> wishes, long waitNanos, ReservationCaller caller) {
      throw why;
    }

    @Override
    public Future<Reservation> renew(DeploymentId deployment, String token) {
      return Future.failedFuture(why);
    }

    @Override
    public Future<Void> release(DeploymentId deployment, String token) {
      return Future.failedFuture(why);
    }
  }

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
    "HANDLER_FAILED, 500",
    "NO_SUCH_METHOD, 500",
    "PAYLOAD_TOO_LARGE, 413"
  })
  void eachKindHasOneStatus(Kind kind, int status) {
    assertThat(ErrorResponses.of(kind.toException("why"), "id", -1, DEFAULT).status())
        .isEqualTo(status);
    assertThat(answer(kind.toException("why")).status()).isEqualTo(status);
  }

  @ParameterizedTest
  @CsvSource({
    "UNKNOWN_DEPLOYMENT, 404, unknown_deployment",
    "UNKNOWN_TOKEN, 404, reservation_unknown",
    "EXPIRED, 410, reservation_expired",
    "RELEASED, 410, reservation_released",
    "ALREADY_USED, 409, reservation_used",
    "OTHER_DEPLOYMENT, 409, reservation_other_deployment",
    "MALFORMED, 400, reservation_malformed",
    "KEY_REUSED, 409, idempotency_key_reused",
    "CALLER_LIMIT, 429, caller_limit",
    "INSTANCE_LIMIT, 503, instance_limit",
    "FULL, 503, back_pressure",
    "UNAVAILABLE, 503, deployment_unavailable",
    "REPLICA_GONE, 503, replica_unavailable",
    "ABANDONED, 499, cancelled"
  })
  void aReservationFailsAlikeForWhoUsesAndWhoReserves(
      ReservationProblem problem, int status, String code) {
    HttpErrorResponse used = HttpErrorResponse.of(problem);
    assertThat(used.status()).isEqualTo(status);
    assertThat(used.code()).isEqualTo(code);
    Endpoint.EndpointResponse reserved = refused(problem, -1, -1);
    assertThat(reserved.status()).isEqualTo(status);
    assertThat(new JsonObject(reserved.body()).getMap())
        .containsEntry("code", code)
        .containsEntry("message", "why")
        .containsEntry("detail", used.detail());
    assertThat(reserved.headers().get("Retry-After"))
        .isEqualTo(used.retryAfterSeconds() == 0 ? null : "" + used.retryAfterSeconds());
    assertThat(reserved.headers().get("x-should-retry"))
        .isEqualTo(problem == ReservationProblem.ALREADY_USED ? "false" : null);
  }

  @ParameterizedTest
  @EnumSource(ReservationProblem.class)
  void noProblemOfReservationsIsLeftOut(ReservationProblem problem) {
    Kind same =
        switch (problem) {
          case FULL -> Kind.BACK_PRESSURE;
          case UNAVAILABLE -> Kind.DEPLOYMENT_UNAVAILABLE;
          case REPLICA_GONE -> Kind.REPLICA_UNAVAILABLE;
          case ABANDONED -> Kind.CANCELLED;
          default -> null;
        };
    if (same != null) {
      assertThat(HttpErrorResponse.of(problem)).isEqualTo(HttpErrorResponse.of(same));
    }
    assertThat(HttpErrorResponse.of(problem).message()).isNotBlank();
  }

  @Test
  void whoReservesIsToldTheStatusThatTheDeploymentAsksFor() {
    Endpoint.EndpointResponse answer = refused(ReservationProblem.FULL, 7, 429);
    assertThat(answer.status()).isEqualTo(429);
    assertThat(answer.headers()).containsEntry("Retry-After", "7");
  }

  /** What {@code DELETE …/reservations/t} answers when that is refused. */
  private static Endpoint.EndpointResponse refused(
      ReservationProblem problem, int retryAfter, int status) {
    ReservationException why = new ReservationException(problem, "why", retryAfter, status);
    ReservationBody bodies = new ReservationBody(Duration.ZERO, Duration.ZERO, 1);
    return new ReservationEndpoint(new Refusing(why), bodies, null, () -> 0, () -> false)
        .handle(
            new Endpoint.EndpointRequest(
                "DELETE",
                "/api/v1/applications/a/deployments/d/reservations/t",
                Headers.empty(),
                Buffer.buffer(),
                "",
                null))
        .answer()
        .result();
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void eachKindHasACodeOfItsOwnNameAndAText(Kind kind) {
    HttpErrorResponse answer = answer(kind.toException("why"));
    assertThat(answer.code()).isEqualToIgnoringCase(kind.name());
    assertThat(answer.message()).isNotBlank();
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void onlyWhatMayHaveRunMayNotBeRepeated(Kind kind) {
    HttpErrorResponse told =
        answer(kind.toException("why")).comeBackAfter(1).as(500).saying("more");
    assertThat(told.mayRepeat()).isEqualTo(kind != Kind.TIMEOUT && kind != Kind.OUTCOME_UNKNOWN);
    assertThat(told.beforeItStarted().mayRepeat()).isTrue();
    assertThat(told.afterItStarted().mayRepeat()).isFalse();
  }

  @Test
  void backPressureMayBe429() {
    Settings configured = Backpressure.DEFAULTS.with(Backpressure.STATUS_CODE, 429);
    assertThat(
            ErrorResponses.of(Kind.BACK_PRESSURE.toException("why"), "id", -1, configured).status())
        .isEqualTo(429);
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
    assertThat(answer(computed).retryAfterSeconds()).isEqualTo(7);
    assertThat(answer(unknown).retryAfterSeconds()).isEqualTo(1);
    assertThat(answer(zero).retryAfterSeconds()).isEqualTo(1);
    assertThat(ErrorResponses.of(computed, "id", -1, configured).retryAfterSeconds()).isEqualTo(3);
    assertThat(ErrorResponses.of(computed, "id", -1, none).retryAfterSeconds()).isEqualTo(1);
  }

  @Test
  void whatTheRefusingDeploymentAsksForGoesBeforeWhatItsParentIsConfiguredTo() {
    Settings parent =
        Backpressure.DEFAULTS
            .with(Backpressure.STATUS_CODE, 503)
            .with(Backpressure.RETRY_AFTER_S, Duration.ofSeconds(3));
    BerthException child =
        new BerthException.BackPressure("full", OptionalInt.of(7), OptionalInt.of(429));
    HttpErrorResponse answer = ErrorResponses.of(child, "id", -1, parent);
    assertThat(answer.status()).isEqualTo(429);
    assertThat(answer.retryAfterSeconds()).isEqualTo(7);
  }

  @ParameterizedTest
  @EnumSource(value = Kind.class, mode = EnumSource.Mode.EXCLUDE, names = "BACK_PRESSURE")
  void onlyBackPressureSaysWhenToComeBack(Kind kind) {
    assertThat(answer(kind.toException("why")).retryAfterSeconds()).isZero();
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
    HttpErrorResponse answer = answer(kind.toException(secret));
    assertThat(answer.message()).doesNotContain("password", "MyHandler");
    assertThat(answer.json().encode()).doesNotContain("password", "MyHandler");
  }

  @Test
  void aFailedHandlerIsAnInternalServerErrorAndNoMore() {
    BerthException failed =
        new BerthException.HandlerFailed("boom", new IllegalStateException("inside"));
    assertThat(answer(failed).message()).isEqualTo("Internal Server Error");
  }

  @Test
  void theNotFoundTextIsRays() {
    assertThat(ErrorResponses.notFound("/x").message())
        .isEqualTo("Path '/x' not found. Ping http://.../-/routes for available routes.");
  }

  @Test
  void payloadTooLargeStatesItsBound() {
    BerthException failure =
        Kind.PAYLOAD_TOO_LARGE.toException("max_batch_items: 40 (expected: at most 32)");
    HttpErrorResponse response = ErrorResponses.of(failure, "id", -1, DEFAULT);
    assertThat(response.status()).isEqualTo(413);
    assertThat(response.message()).isEqualTo("max_batch_items: 40 (expected: at most 32)");
  }

  @Test
  void theJsonFormHasCodeMessageAndDetail() {
    JsonObject json = new JsonObject(ErrorResponses.notFound("/\"x").json().encode());
    assertThat(json.fieldNames()).containsExactlyInAnyOrder("code", "message", "detail");
    assertThat(json.getString("code")).isEqualTo("not_found");
    assertThat(json.getString("message")).contains("/\"x");
    assertThat(json.getString("detail")).contains("/-/routes", "berth.admin");
  }

  private static HttpErrorResponse answer(BerthException failure) {
    return ErrorResponses.of(failure, "id", ResolvedRoute.NO_TIMEOUT, DEFAULT);
  }
}

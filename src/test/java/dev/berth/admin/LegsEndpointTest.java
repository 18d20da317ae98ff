package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.Reservations;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** {@code POST /api/v1/reservations}: what is read, what is told. */
class LegsEndpointTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private final Held held = new Held();
  private final ReservationEndpoint endpoint =
      new ReservationEndpoint(
          held, Duration.ofSeconds(300), Duration.ofSeconds(60), 16, "127.0.0.1", () -> 8000);

  /** Holds whatever it is asked for. */
  private static final class Held implements Reservations {
    @Nullable List<Wish> wishes;
    long waitNanos;
    @Nullable Caller caller;
    @Nullable ReservationException refusal;
    int abandoned;

    @Override
    public Asked<Reservation> reserve(Wish wish, Caller by) {
      throw new AssertionError("reserve: called (expected: reserveAll)");
    }

    @Override
    public Asked<List<Reservation>> reserveAll(List<Wish> wanted, long wait, Caller by) {
      wishes = wanted;
      waitNanos = wait;
      caller = by;
      List<Reservation> made =
          IntStream.range(0, wanted.size())
              .mapToObj(
                  place ->
                      new Reservation(
                          "token-" + place,
                          wanted.get(place).deployment(),
                          "r" + place,
                          "n1",
                          null,
                          OptionalInt.empty(),
                          10 * SECOND,
                          (10 - place) * SECOND))
              .toList();
      ReservationException refused = refusal;
      return new Asked<>() {
        @Override
        public Future<List<Reservation>> answer() {
          return refused == null ? Future.succeededFuture(made) : Future.failedFuture(refused);
        }

        @Override
        public void abandon() {
          abandoned++;
        }
      };
    }

    @Override
    public Future<Reservation> renew(DeploymentId deployment, String token) {
      throw new AssertionError("renew: called (expected: reserveAll)");
    }

    @Override
    public Future<Void> release(DeploymentId deployment, String token) {
      throw new AssertionError("release: called (expected: reserveAll)");
    }
  }

  private Endpoint.Exchange exchange(String method, String body, String... headers) {
    assertThat(endpoint.answers("/api/v1/reservations")).isTrue();
    return endpoint.handle(
        new Endpoint.Asked(
            method,
            "/api/v1/reservations",
            Headers.of(headers),
            Buffer.buffer(body),
            "10.0.0.1",
            null));
  }

  private Endpoint.Answer post(String body, String... headers) {
    return exchange("POST", body, headers).answer().result();
  }

  private static String message(Endpoint.Answer answer) {
    return new JsonObject(answer.body()).getString("message");
  }

  @Test
  void eachLegIsWishedForAndShownInItsPlace() {
    Endpoint.Answer answer =
        post(
            """
            {"legs": [{"application": "app", "deployment": "prefill", "ttl_s": 5},
                      {"application": "app", "deployment": "decode", "session_id": "s"}],
             "ttl_s": 20, "wait_timeout_s": 1.5}""",
            "Idempotency-Key",
            "k1");
    assertThat(answer.status()).isEqualTo(201);
    assertThat(answer.headers()).containsEntry("Cache-Control", "no-store");
    assertThat(held.waitNanos).isEqualTo(3 * SECOND / 2);
    assertThat(held.caller).isEqualTo(new Reservations.Caller("address 10.0.0.1", "k1"));
    assertThat(held.wishes)
        .containsExactly(
            new Reservations.Wish(
                new DeploymentId("app", "prefill"), 5 * SECOND, 3 * SECOND / 2, ""),
            new Reservations.Wish(
                new DeploymentId("app", "decode"), 20 * SECOND, 3 * SECOND / 2, "s"));
    JsonObject body = new JsonObject(answer.body());
    assertThat(body.getLong("expires_in_ms")).as("of the first to expire").isEqualTo(9_000);
    JsonArray shown = body.getJsonArray("reservations");
    assertThat(shown.getJsonObject(1).getMap())
        .containsEntry("application", "app")
        .containsEntry("deployment", "decode")
        .containsEntry("token", "token-1")
        .containsEntry("replica_id", "r1")
        .containsEntry("host", "127.0.0.1")
        .containsEntry("port", 8000);
  }

  @Test
  void withoutAWaitThereIsNone() {
    post("{\"legs\": [{\"application\": \"app\", \"deployment\": \"a\"}]}");
    assertThat(held.waitNanos).isZero();
    assertThat(held.wishes.get(0).ttlNanos()).as("the deployment's own").isZero();
  }

  @Test
  void everythingThatIsWrongIsSaidAtOnce() {
    Endpoint.Answer answer =
        post(
            """
            {"legs": [{"application": "app", "ttl_s": 0, "x": 1},
                      7,
                      {"application": "", "deployment": 3, "session_id": 4}],
             "wait_timeout_s": -1, "wait": 2}""");
    assertThat(answer.status()).isEqualTo(400);
    assertThat(message(answer))
        .contains("\"wait\": unknown key")
        .contains("wait_timeout_s: -1")
        .contains("legs[0].\"x\": unknown key")
        .contains("legs[0].ttl_s: 0")
        .contains("legs[0].deployment: null (expected: a name)")
        .contains("legs[1]: no JSON object")
        .contains("legs[2].application: \"\"")
        .contains("legs[2].deployment: 3")
        .contains("legs[2].session_id: 4");
    assertThat(held.wishes).isNull();
  }

  @Test
  void legsAreOneToSixteen() {
    String leg = "{\"application\": \"app\", \"deployment\": \"a\"}";
    String sixteen = String.join(",", java.util.Collections.nCopies(16, leg));
    assertThat(post("{\"legs\": [" + sixteen + "]}").status()).isEqualTo(201);
    assertThat(message(post("{\"legs\": [" + sixteen + "," + leg + "]}")))
        .isEqualTo("legs: 17 (expected: a list of 1 to 16)");
    assertThat(message(post("{\"legs\": []}"))).contains("legs: 0 (expected:");
    assertThat(message(post(""))).contains("legs: 0 (expected:");
    assertThat(message(post("{\"legs\": \"all\"}"))).contains("expected: a list");
  }

  @Test
  void aRefusalSaysWhichLegAndWhenToComeAgain() {
    held.refusal =
        new Reservations.ReservationException(
            Reservations.Problem.FULL, "legs[1]: no slot is free", 3, 429);
    Endpoint.Answer answer =
        post("{\"legs\": [{\"application\": \"app\", \"deployment\": \"a\"}]}");
    assertThat(answer.status()).isEqualTo(429);
    assertThat(answer.headers()).containsEntry("Retry-After", "3");
    assertThat(message(answer)).isEqualTo("legs[1]: no slot is free");
  }

  @Test
  void onlyPostIsAllowedAndAClientThatGoesAbandonsWhatItAskedFor() {
    assertThat(exchange("GET", "").answer().result().status()).isEqualTo(405);
    exchange("POST", "{\"legs\": [{\"application\": \"app\", \"deployment\": \"a\"}]}")
        .clientGone();
    assertThat(held.abandoned).isOne();
  }
}

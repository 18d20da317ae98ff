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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reservations, one or several legs together: what is read, what is told. */
class ReservationEndpointTest {
  private static final String PATH = "/api/v1/applications/my%20app/deployments/d+1/reservations";
  private static final String LEGS = "/api/v1/reservations";
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private boolean starting;
  private final Held held = new Held();
  private final ReservationEndpoint endpoint =
      new ReservationEndpoint(
          held,
          new ReservationBody(Duration.ofSeconds(300), Duration.ofSeconds(60), 16),
          "127.0.0.1",
          () -> 8000,
          () -> starting);

  /** Holds whatever it is asked for. */
  private static final class Held implements Reservations {
    String asked = "";
    @Nullable List<ReservationRequest> wishes;
    long waitNanos;
    @Nullable ReservationCaller caller;
    @Nullable ReservationException refusal;
    int abandoned;

    @Override
    public ReservationCall<Reservation> reserve(ReservationRequest wish, ReservationCaller by) {
      return asked(granted("reserve " + wish.deployment(), wish.deployment()));
    }

    @Override
    public ReservationCall<List<Reservation>> reserveAll(
        List<ReservationRequest> wanted, long wait, ReservationCaller by) {
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
      return asked(refused == null ? Future.succeededFuture(made) : Future.failedFuture(refused));
    }

    private <T> ReservationCall<T> asked(Future<T> answer) {
      return new ReservationCall<>() {
        @Override
        public Future<T> answer() {
          return answer;
        }

        @Override
        public void abandon() {
          abandoned++;
        }
      };
    }

    @Override
    public Future<Reservation> renew(DeploymentId deployment, String token) {
      return granted("renew " + deployment + " " + token, deployment);
    }

    @Override
    public Future<Void> release(DeploymentId deployment, String token) {
      return granted("release " + deployment + " " + token, deployment).mapEmpty();
    }

    private Future<Reservation> granted(String what, DeploymentId deployment) {
      asked = what;
      return Future.succeededFuture(
          new Reservation("t", deployment, "r", "n", null, OptionalInt.empty(), 9, 9));
    }
  }

  private Endpoint.EndpointCall exchange(
      String method, String path, String body, String... headers) {
    return endpoint.handle(
        new Endpoint.EndpointRequest(
            method, path, Headers.of(headers), Buffer.buffer(body), "10.0.0.1", null));
  }

  private Endpoint.EndpointResponse ask(String method, String path) {
    return exchange(method, path, "").answer().result();
  }

  private Endpoint.EndpointResponse post(String body, String... headers) {
    assertThat(endpoint.answers(LEGS)).isTrue();
    return exchange("POST", LEGS, body, headers).answer().result();
  }

  private static String message(Endpoint.EndpointResponse answer) {
    return new JsonObject(answer.body()).getString("message");
  }

  /** It answered 404: unknown_deployment, or reservation_unknown. */
  @Test
  void startingNodeAsksToComeBack() {
    starting = true;
    for (Endpoint.EndpointResponse answer :
        List.of(ask("POST", PATH), ask("DELETE", PATH + "/t"), ask("PATCH", PATH + "/t"))) {
      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.headers()).containsEntry("Retry-After", "1");
      assertThat(message(answer)).isEqualTo("This node is starting.");
    }
    assertThat(held.asked).isEmpty();
    starting = false;
    assertThat(ask("DELETE", PATH + "/t").status()).isEqualTo(204);
  }

  // --- one ---

  @Test
  void aPathLeadsToItsDeploymentAndToken() {
    Endpoint.EndpointResponse made = ask("POST", PATH);
    assertThat(made.status()).isEqualTo(201);
    assertThat(held.asked).isEqualTo("reserve my app#d+1");
    assertThat(made.headers())
        .containsEntry("Location", "reservations/t")
        .containsEntry("Cache-Control", "no-store")
        .containsEntry("Content-Type", "application/json");
    assertThat(ask("PATCH", PATH + "/t%2F").status()).isEqualTo(200);
    assertThat(held.asked).isEqualTo("renew my app#d+1 t%2F");
    assertThat(ask("DELETE", PATH + "/t").status()).isEqualTo(204);
    assertThat(held.asked).isEqualTo("release my app#d+1 t");
    assertThat(ask("GET", PATH).headers()).containsEntry("Allow", "POST");
    assertThat(ask("POST", PATH + "/t").headers()).containsEntry("Allow", "PATCH, DELETE");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        PATH + "/",
        PATH + "/t/more",
        "/api/v1/applications//deployments/d/reservations",
        "/api/v1/applications/a/deployments//reservations",
        "/api/v1/applications/%zz/deployments/d/reservations",
        "/api/v1/applications/a/deployments/d/reservations2",
        "/api/v1/applications/a/d/deployments/d/reservations",
        "/api/v1/reservations/",
      })
  void whatLeadsNowhereIsNotFound(String path) {
    assertThat(endpoint.answers(path)).isFalse();
    assertThat(ask("POST", path).status()).isEqualTo(404);
  }

  // --- legs ---

  @Test
  void eachLegIsWishedForAndShownInItsPlace() {
    Endpoint.EndpointResponse answer =
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
    assertThat(held.caller).isEqualTo(new Reservations.ReservationCaller("address 10.0.0.1", "k1"));
    assertThat(held.wishes)
        .containsExactly(
            new Reservations.ReservationRequest(
                new DeploymentId("app", "prefill"), 5 * SECOND, 3 * SECOND / 2, ""),
            new Reservations.ReservationRequest(
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
    Endpoint.EndpointResponse answer =
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
        .contains("legs[1]: not a JSON object")
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
            Reservations.ReservationProblem.FULL, "legs[1]: no slot is free", 3, 429);
    Endpoint.EndpointResponse answer =
        post("{\"legs\": [{\"application\": \"app\", \"deployment\": \"a\"}]}");
    assertThat(answer.status()).isEqualTo(429);
    assertThat(answer.headers()).containsEntry("Retry-After", "3");
    assertThat(message(answer)).isEqualTo("legs[1]: no slot is free");
  }

  @Test
  void onlyPostIsAllowedAndAClientThatGoesAbandonsWhatItAskedFor() {
    assertThat(ask("GET", LEGS).status()).isEqualTo(405);
    exchange("POST", LEGS, "{\"legs\": [{\"application\": \"app\", \"deployment\": \"a\"}]}")
        .clientGone();
    assertThat(held.abandoned).isOne();
  }
}

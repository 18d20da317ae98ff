package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.Reservations;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One reservation over HTTP; several together are {@link LegsEndpointTest}'s. */
class ReservationEndpointTest {
  private static final String PATH = "/api/v1/applications/my%20app/deployments/d+1/reservations";

  private final Held held = new Held();
  private final ReservationEndpoint endpoint =
      new ReservationEndpoint(
          held, Duration.ofSeconds(300), Duration.ofSeconds(60), 16, "127.0.0.1", () -> 8000);

  /** Grants whatever it is asked for. */
  private static final class Held implements Reservations {
    String asked = "";

    private Future<Reservation> granted(String what, DeploymentId deployment) {
      asked = what;
      return Future.succeededFuture(
          new Reservation("t", deployment, "r", "n", null, OptionalInt.empty(), 9, 9));
    }

    @Override
    public Asked<Reservation> reserve(Wish wish, Caller by) {
      Future<Reservation> answer = granted("reserve " + wish.deployment(), wish.deployment());
      return new Asked<>() {
        @Override
        public Future<Reservation> answer() {
          return answer;
        }

        @Override
        public void abandon() {}
      };
    }

    @Override
    public Asked<List<Reservation>> reserveAll(List<Wish> wanted, long wait, Caller by) {
      throw new AssertionError("reserveAll: called (expected: reserve)");
    }

    @Override
    public Future<Reservation> renew(DeploymentId deployment, String token) {
      return granted("renew " + deployment + " " + token, deployment);
    }

    @Override
    public Future<Void> release(DeploymentId deployment, String token) {
      return granted("release " + deployment + " " + token, deployment).mapEmpty();
    }
  }

  private Endpoint.Answer ask(String method, String path) {
    return endpoint
        .handle(new Endpoint.Asked(method, path, Headers.of(), Buffer.buffer(), "10.0.0.1", null))
        .answer()
        .result();
  }

  @Test
  void aPathLeadsToItsDeploymentAndToken() {
    Endpoint.Answer made = ask("POST", PATH);
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
}

package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.AdminOptions;
import dev.berth.config.BearerToken;
import dev.berth.config.ServeConfig;
import dev.berth.config.admin.AdminRole;
import dev.berth.config.keys.Settings;
import dev.berth.protocol.port.Endpoint;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Who may ask, and who is refused before anything is looked at. */
class AdminGateTest {
  private static final String SECRET = "a-secret-of-24-characters";
  private static final String VIEWER = "Bearer a-secret-of-a-screen";
  private static final String APPLICATIONS = "/api/serve/applications/";
  private static final FakeCommands COMMANDS = new FakeCommands();

  /** Answers with who asks, as far as it is told. */
  private static final Endpoint NAMING =
      asked ->
          () -> {
            Buffer name = Buffer.buffer(String.valueOf(asked.client()));
            return Future.succeededFuture(new Endpoint.EndpointResponse(200, Map.of(), name));
          };

  @AutoClose private static final AdminClient OPEN = admin(ServeConfig.DEFAULTS);

  @AutoClose
  private static final AdminClient CLOSED =
      admin(
          ServeConfig.DEFAULTS.with(
              AdminOptions.BEARER_TOKENS,
              List.of(
                  BearerToken.of("ci", SECRET),
                  BearerToken.of("ops", "another-secret-of-some-length"),
                  BearerToken.of("screen", VIEWER.substring(7))
                      .with(BearerToken.ROLE, AdminRole.VIEWER))));

  private static AdminClient admin(Settings settings) {
    return new AdminClient(
        settings,
        meters ->
            List.of(
                new HealthRoutes(meters),
                AdminClient.serving(COMMANDS, (deployment, replica) -> true, meters),
                new EndpointRoutes(
                    "/endpoint",
                    new BearerTokens(Map.of("holder", "secret-of-a-holder"), false, NAMING))));
  }

  @BeforeEach
  void forget() {
    COMMANDS.asked.clear();
  }

  @Test
  void withoutTokensEveryClientMayAsk() {
    assertThat(OPEN.send("PUT", APPLICATIONS, "{}").statusCode()).isEqualTo(200);
    assertThat(OPEN.get("/metrics", "Authorization", "Basic x").statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource({
    "GET, /metrics",
    "GET, /api/ray/version",
    "GET, /api/serve/applications/",
    "PUT, /api/serve/applications/",
    "DELETE, /api/serve/applications/",
    "POST, /api/v1/drain",
    "POST, /-/healthz",
    "GET, /nothing",
  })
  void withTokensAClientThatShowsNoneIsRefusedWhateverItAsks(String method, String path) {
    HttpResponse<String> refused = CLOSED.send(method, path, method.equals("GET") ? null : "{}");
    assertThat(refused.statusCode()).isEqualTo(401);
    assertThat(refused.headers().firstValue("www-authenticate")).hasValue("Bearer realm=\"berth\"");
    assertThat(new JsonObject(refused.body()).getString("code")).isEqualTo("unauthorized");
    assertThat(COMMANDS.asked).isEmpty();
  }

  @Test
  void whetherItLivesIsToldToEveryone() {
    assertThat(CLOSED.get("/-/healthz").body()).isEqualTo("success");
  }

  @Test
  void aClientThatShowsAKnownTokenMayAsk() {
    assertThat(CLOSED.get("/metrics", "Authorization", "Bearer " + SECRET).body())
        .contains("berth_admin_unauthorized_total");
    assertThat(
            CLOSED
                .send("DELETE", APPLICATIONS, null, "Authorization", "bearer  " + SECRET)
                .statusCode())
        .isEqualTo(200);
    assertThat(COMMANDS.asked).containsExactly("delete all");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Bearer",
        "Bearer ",
        "Bearer a-secret-of-24-character",
        "Bearer a-secret-of-24-charactersX",
        "Bearer ci",
        "Basic a-secret-of-24-characters",
        "a-secret-of-24-characters"
      })
  void whatIsNoKnownTokenIsRefusedAndNotRepeated(String shown) {
    HttpResponse<String> refused =
        CLOSED.send("DELETE", APPLICATIONS, null, "Authorization", shown);
    assertThat(refused.statusCode()).isEqualTo(401);
    assertThat(refused.headers().firstValue("www-authenticate"))
        .hasValue("Bearer realm=\"berth\", error=\"invalid_token\"");
    assertThat(refused.body()).doesNotContain("a-secret");
    assertThat(COMMANDS.asked).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "PUT, /api/serve/applications/",
    "DELETE, /api/serve/applications/",
    "POST, /api/v1/drain",
    "POST, /api/v1/applications/a/deployments/d/scale",
    "POST, /endpoint",
    "PATCH, /metrics",
    "GET, /api/v1/jars/0000",
    "HEAD, /api/v1/jars/0000",
    "POST, /nothing",
  })
  void viewerChangesNothingAndReadsNoJar(String method, String path) {
    HttpResponse<String> refused =
        CLOSED.send(
            method, path, method.matches("GET|HEAD") ? null : "{}", "Authorization", VIEWER);
    assertThat(refused.statusCode()).isEqualTo(403);
    if (!method.equals("HEAD")) {
      JsonObject body = new JsonObject(refused.body());
      assertThat(body.getString("code")).isEqualTo("forbidden");
      assertThat(body.getString("message")).isEqualTo("role: viewer (expected: operator)");
      assertThat(body.getString("detail")).contains("token screen");
    }
    assertThat(COMMANDS.asked).isEmpty();
  }

  @Test
  void viewerReadsAndIsCounted() {
    CLOSED.send("POST", "/api/v1/drain", "{}", "Authorization", VIEWER);
    assertThat(CLOSED.get("/metrics", "Authorization", VIEWER).body())
        .containsPattern("berth_admin_forbidden_total(\\{.*})? [1-9]");
    assertThat(CLOSED.get("/api/ray/version", "Authorization", VIEWER).statusCode()).isEqualTo(200);
  }

  @Test
  void twoTokensAreNone() {
    String[] two = {"Authorization", "Bearer " + SECRET, "Authorization", "Bearer " + SECRET};
    assertThat(CLOSED.send("DELETE", APPLICATIONS, null, two).statusCode()).isEqualTo(401);
  }

  @Test
  void anEndpointIsToldWhoTheServerKnowsAndDoesNotJudgeTheTokenAgain() {
    assertThat(CLOSED.send("POST", "/endpoint", "{}", "Authorization", "Bearer " + SECRET).body())
        .isEqualTo("token ci");
    String holder = "Bearer secret-of-a-holder";
    assertThat(OPEN.send("POST", "/endpoint", "{}", "Authorization", holder).body())
        .isEqualTo("token holder");
    assertThat(CLOSED.send("POST", "/endpoint", "{}", "Authorization", holder).statusCode())
        .isEqualTo(401);
    assertThat(OPEN.send("POST", "/endpoint", "{}").body()).isEqualTo("null");
  }

  @ParameterizedTest
  @CsvSource({
    "Origin, http://evil.example",
    "Origin, null",
    "Origin, http://localhost",
    "Origin, http://127.0.0.1:1",
    "Sec-Fetch-Site, cross-site",
    "Sec-Fetch-Site, same-site",
  })
  void aPageOfAnotherSiteMayChangeNothing(String header, String value) {
    for (String[] change :
        new String[][] {
          {"PUT", APPLICATIONS},
          {"DELETE", APPLICATIONS},
          {"POST", "/api/v1/applications/a/deployments/d/scale"},
          {"PUT", "/api/v1/applications/a"},
          {"DELETE", "/api/v1/applications/a"},
          {"POST", "/api/v1/applications/a/rollback"},
          {"DELETE", "/api/v1/applications/a/deployments/d/replicas/r"},
          {"POST", "/api/v1/controller/restart"},
          {"POST", "/api/v1/drain"},
        }) {
      HttpResponse<String> refused = OPEN.send(change[0], change[1], "{}", header, value);
      assertThat(refused.statusCode()).as(change[1]).isEqualTo(403);
      assertThat(new JsonObject(refused.body()).getString("code")).isEqualTo("cross_site");
    }
    assertThat(COMMANDS.asked).isEmpty();
  }

  @Test
  void aPageOfThisServerMayAndSoMayWhatIsNoBrowser() {
    String own = "http://127.0.0.1:" + OPEN.port;
    assertThat(
            OPEN.send("PUT", APPLICATIONS, "{}", "Origin", own, "Sec-Fetch-Site", "same-origin")
                .statusCode())
        .isEqualTo(200);
    assertThat(OPEN.send("PUT", APPLICATIONS, "{}", "Sec-Fetch-Site", "none").statusCode())
        .isEqualTo(200);
    assertThat(OPEN.send("PUT", APPLICATIONS, "{}").statusCode()).isEqualTo(200);
    assertThat(COMMANDS.asked).hasSize(3);
  }

  /** What it reads a page of another site cannot see, as no header lets it. */
  @Test
  void aPageOfAnotherSiteIsNotToldThatItMayRead() {
    HttpResponse<String> read = OPEN.get(APPLICATIONS, "Origin", "http://evil.example");
    assertThat(read.headers().map().keySet())
        .noneMatch(name -> name.toLowerCase(Locale.ROOT).startsWith("access-control"));
  }
}

package dev.berth.admin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.AdminClient;
import dev.berth.admin.AdminRoutes;
import dev.berth.admin.HealthRoutes;
import dev.berth.config.AdminOptions;
import dev.berth.config.BearerToken;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import java.net.http.HttpResponse;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The page of the admin port and the headers of its files. */
class PageRoutesTest {
  private static final String BROWSER =
      "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  private static final Settings TOKENS =
      ServeConfig.DEFAULTS.with(
          AdminOptions.BEARER_TOKENS, List.of(BearerToken.of("ci", "a-secret-of-24-characters")));

  @AutoClose private static final AdminClient ADMIN = admin(TOKENS);

  /** As a worker forwards all paths that it does not serve itself. */
  private static final class ForwardedRoutes implements AdminRoutes {
    @Override
    public void mount(Router router) {
      router.get("/page/*").handler(context -> context.response().end("forwarded"));
    }
  }

  private static AdminClient admin(Settings settings) {
    return new AdminClient(
        settings,
        meters ->
            List.of(
                new HealthRoutes(meters),
                new PageRoutes(true, "node-1", "1.2.3"),
                new ForwardedRoutes()));
  }

  @Test
  void browserReceivesThePageWithoutATokenAndMayUseNothingElse() {
    HttpResponse<String> page = ADMIN.get("/", "Accept", BROWSER);
    assertThat(page.statusCode()).isEqualTo(200);
    assertThat(page.body()).startsWith("<!DOCTYPE html>");
    assertThat(page.headers().map())
        .containsEntry("content-type", List.of("text/html; charset=utf-8"))
        .containsEntry("x-frame-options", List.of("DENY"))
        .containsEntry("x-content-type-options", List.of("nosniff"))
        .containsEntry("referrer-policy", List.of("no-referrer"))
        .containsEntry("cache-control", List.of("no-cache"))
        .containsEntry("vary", List.of("accept"));
    assertThat(page.headers().firstValue("content-security-policy").orElse(""))
        .contains("default-src 'self';", "frame-ancestors 'none'", "base-uri 'none'")
        .contains("form-action 'none'", "require-trusted-types-for 'script'")
        .doesNotContain("unsafe");
    assertThat(ADMIN.get("/metrics", "Accept", BROWSER).statusCode()).isEqualTo(401);
    assertThat(ADMIN.send("POST", "/", "{}", "Accept", BROWSER).statusCode()).isEqualTo(401);
  }

  @ParameterizedTest
  @ValueSource(strings = {"*/*", "application/json", "application/json, text/html", ""})
  void otherClientsReceiveJsonAndNeedAToken(String accept) {
    HttpResponse<String> json =
        ADMIN.get("/", "Accept", accept, "Authorization", "Bearer a-secret-of-24-characters");
    assertThat(new JsonObject(json.body()).getJsonObject("paths")).isNotEmpty();
    assertThat(json.headers().firstValue("vary")).hasValue("accept");
    assertThat(ADMIN.get("/", "Accept", accept).statusCode()).isEqualTo(401);
  }

  @Test
  void fileThatIsCurrentIsNotSentTwice() {
    HttpResponse<String> first = ADMIN.get("/", "Accept", BROWSER);
    String tag = first.headers().firstValue("etag").orElseThrow();
    HttpResponse<String> second = ADMIN.get("/", "Accept", BROWSER, "If-None-Match", tag);
    assertThat(second.statusCode()).isEqualTo(304);
    assertThat(second.body()).isEmpty();
    assertThat(ADMIN.get("/", "Accept", BROWSER, "If-None-Match", "\"x\"").statusCode())
        .isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/page/",
        "/page/index.html",
        "/page/PageRoutes.class",
        "/page/none.js",
        "/page/a/b/c/d.js",
        "/page/package-info.class",
        "/page/a%2f..%2findex.html",
        "/page//index.html",
        "/page/../page/index.html"
      })
  void noOtherResourceOfTheJarIsServed(String path) {
    assertThat(ADMIN.get(path).statusCode()).isIn(400, 404);
  }

  @Test
  void callerLearnsItsNameAndRole() {
    HttpResponse<String> known =
        ADMIN.get("/api/v1/whoami", "Authorization", "Bearer a-secret-of-24-characters");
    assertThat(new JsonObject(known.body()))
        .isEqualTo(
            new JsonObject()
                .put("name", "ci")
                .put("role", "operator")
                .put("tokens", true)
                .put("node", "node-1")
                .put("version", "1.2.3"));
    assertThat(ADMIN.get("/api/v1/whoami").statusCode()).isEqualTo(401);
  }

  @Test
  void pageIsRefusedUnderTheNameOfAnotherHost() throws Exception {
    String request = "GET / HTTP/1.1\r\nHost: evil.example\r\nAccept: text/html\r\n";
    assertThat(ADMIN.raw(request + "Connection: close\r\n\r\n"))
        .startsWith("HTTP/1.1 403 ")
        .contains("host_not_allowed");
  }

  @Test
  void pageIsAbsentWithoutDashboard() {
    Settings off = TOKENS.with(AdminOptions.DASHBOARD, false);
    try (AdminClient admin =
        new AdminClient(off, meters -> List.of(new HealthRoutes(meters), new ForwardedRoutes()))) {
      assertThat(admin.get("/", "Accept", BROWSER).statusCode()).isEqualTo(401);
      assertThat(admin.get("/page/index.html").statusCode()).isEqualTo(404);
    }
  }
}

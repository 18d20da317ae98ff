package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import io.vertx.core.json.JsonObject;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TrafficRoutesTest {
  private static final String PATH = "/api/v1/traffic";
  private static final String SHOP = PATH + "?route=%2Fshop";
  private static final String EXPLAIN = PATH + "/explain?route=%2Fshop";

  private static final FakeCommands COMMANDS = new FakeCommands();

  @AutoClose
  private static final AdminClient ADMIN =
      new AdminClient(COMMANDS, (deployment, replica) -> false);

  @BeforeEach
  void forget() {
    COMMANDS.reset();
  }

  private static void refused(HttpResponse<String> response, int status, String said) {
    assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
    assertThat(new JsonObject(response.body()).getString("message")).contains(said);
    assertThat(COMMANDS.asked).isEmpty();
  }

  @Test
  void allRoutesAreShownOrOne() {
    assertThat(ADMIN.json(PATH).getJsonArray("routes")).hasSize(2);
    assertThat(ADMIN.json(SHOP))
        .isEqualTo(
            new JsonObject("{\"routes\": [{\"route\": \"/shop\", \"application\": \"shop\"}]}"));
    refused(ADMIN.get(PATH + "?route=/none"), 404, "route: /none (expected: a known route)");
    refused(ADMIN.get(PATH + "?rout=/shop"), 400, "rout");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          header | X-Canary: 1  | {header x-canary=1}
          header | x-none:      | {header x-none=}
          cookie | who=beta=2   | {cookie who=beta=2}
          query  | Q= a b       | {query Q=a b}
          method | PUT          | {method=PUT}
          path   | /shop/7      | {path=/shop/7}
          """)
  void whereARequestWouldGoIsExplainedByEachPart(String part, String value, String asked) {
    String encoded = URLEncoder.encode(value, StandardCharsets.UTF_8);
    assertThat(ADMIN.json(EXPLAIN + "&" + part + "=" + encoded).getString("why")).isEqualTo(asked);
  }

  @ParameterizedTest
  @CsvSource({
    "header=x, NAME: VALUE",
    "header=:x, NAME: VALUE",
    "cookie=x, NAME=VALUE",
    "query==x, NAME=VALUE"
  })
  void aPartThatIsNoPairIsRefused(String pair, String expected) {
    refused(ADMIN.get(EXPLAIN + "&" + pair), 400, "(expected: " + expected + ")");
  }

  @Test
  void whatHasOneDeploymentOrIsNotThereExplainsNothing() {
    refused(ADMIN.get(PATH + "/explain?route=/all"), 404, "a route with several deployments");
    refused(ADMIN.get(PATH + "/explain"), 400, "route: [] (expected: one)");
    refused(ADMIN.get(EXPLAIN + "&route=/all"), 400, "(expected: one)");
  }

  @Test
  void weightsAreOfTheRoutesApplicationOrOfTheEndpoint() {
    HttpResponse<String> shop =
        ADMIN.send(
            "PUT", SHOP, "{\"weights\": {\"a\": 90, \"b\": 10.5}}", "Idempotency-Key", "one");
    assertThat(shop.statusCode()).as(shop.body()).isEqualTo(200);
    assertThat(new JsonObject(shop.body())).isEqualTo(new JsonObject("{\"revision\": 4}"));
    HttpResponse<String> all =
        ADMIN.send("PUT", PATH + "?route=/all", "{\"weights\": {\"shop#a\": 1}}");
    assertThat(new JsonObject(all.body())).isEqualTo(new JsonObject("{\"revision\": 5}"));
    assertThat(COMMANDS.asked)
        .containsExactly(
            "once one", "split shop {a=90.0, b=10.5}", "split endpoint /all {shop#a=1.0}");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "{\"weights\": []}",
        "{\"weights\": {}}",
        "{\"weights\": {\"a\": \"9\"}}",
        "{\"weights\": {\"a\": null}}"
      })
  void weightsThatAreNoneAreRefused(String body) {
    refused(ADMIN.send("PUT", SHOP, body), 400, "(expected: {\"weights\": {\"DEPLOYMENT\"");
  }

  @Test
  void weightsAreForARouteThatIsThereAndWhatTheyAreRefusedWithIsTold() {
    String body = "{\"weights\": {\"a\": 1}}";
    refused(ADMIN.send("PUT", SHOP, body + " ".repeat(16 << 10)), 400, "bytes");
    refused(ADMIN.send("PUT", PATH + "?route=/none", body), 404, "route: /none");
    refused(ADMIN.send("PUT", PATH, body), 400, "route: [] (expected: one)");
    COMMANDS.refuse(CommandRejectionReason.INVALID, "traffic: x", "weight: y");
    HttpResponse<String> told = ADMIN.send("PUT", SHOP, body);
    assertThat(told.statusCode()).isEqualTo(400);
    assertThat(new JsonObject(told.body()).getJsonArray("problems"))
        .containsExactly("traffic: x", "weight: y");
  }
}

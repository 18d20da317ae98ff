package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TrafficCommandTest {
  private static final String PATH = "/api/v1/traffic";

  private static final String ROUTES =
      """
      {"routes": [
        {"route": "/all", "application": ""},
        {"route": "/one", "application": "one",
         "traffic": [{"application": "one", "deployment": "d"}]},
        {"route": "/shop", "application": "shop",
         "traffic": [
           {"application": "shop", "deployment": "v1", "weight": 90.0, "requests": 901, "errors": 2,
            "p50_ms": 1.2, "p99_ms": 3.4},
           {"application": "shop", "deployment": "v2\\u001b[2J", "weight": 10.0, "requests": 99,
            "errors": 0, "p50_ms": 1.0, "p99_ms": 2.0}],
         "match": [{"application": "shop", "deployment": "v2", "header": "x-canary",
                    "is": "exact 1"},
                   {"application": "shop", "deployment": "v2", "method": "", "is": "exact PUT"}],
         "shadow": [{"application": "shop", "deployment": "v3", "fraction": 0.5, "copied": 480,
                     "failed": 1, "skipped_busy": 20, "skipped_body": 3, "status_same": 470,
                     "status_other": 9}]}]}
      """;

  @AutoClose private final FakeInstance instance = new FakeInstance();

  @Test
  void everySideMatchAndShadowIsALine() {
    instance.answer("GET " + PATH, 200, ROUTES);
    assertThat(instance.execute("traffic")).as(instance.err.toString()).isZero();
    assertThat(instance.lines())
        .containsExactly(
            "route | deployment | share | requests | errors | p50 ms | p99 ms",
            "/all | no deployment yet: requests wait",
            "/one | one#d | 100.0 %",
            "/shop | shop#v2 | match: header x-canary exact 1",
            "/shop | shop#v2 | match: method exact PUT",
            "/shop | shop#v1 | 90.0 % | 901 | 2 | 1.2 | 3.4",
            "/shop | shop#v2?[2J | 10.0 % | 99 | 0 | 1.0 | 2.0",
            "/shop | shop#v3 | 50.0 % | 480 | 1"
                + " | shadow: 23 skipped, status 470 alike, 9 not");
    instance.out.getBuffer().setLength(0);
    assertThat(instance.execute("traffic", "/a b", "--json")).isZero();
    assertThat(new JsonObject(instance.out.toString()).getJsonArray("routes")).hasSize(3);
    assertThat(instance.asked)
        .containsExactly("GET /api/v1/traffic", "GET /api/v1/traffic?route=%2Fa%20b");
  }

  @Test
  void jsonOfAnotherVersionIsPrintedAsItComes() {
    instance.answer("GET " + PATH, 200, "{\"routes\": [{\"route\": \"/x\", \"shadow\": [{}]}]}");
    assertThat(instance.execute("traffic", "--json")).as(instance.err.toString()).isZero();
    assertThat(new JsonObject(instance.out.toString()).getJsonArray("routes")).hasSize(1);
  }

  @Test
  void whereARequestWouldGoIsSaidInALine() {
    instance.answer(
        "GET " + PATH + "/explain", 200, "{\"deployment\": \"v2\", \"why\": \"shop#v2: match 0\"}");
    assertThat(
            instance.execute(
                "traffic", "/shop", "--explain", "header=X-Canary: 1", "--explain", "method=PUT"))
        .isZero();
    assertThat(instance.lines()).containsExactly("shop#v2: match 0");
    assertThat(instance.asked)
        .containsExactly(
            "GET /api/v1/traffic/explain?route=%2Fshop&header=X-Canary%3A%201&method=PUT");
    assertThat(instance.execute("traffic", "/shop", "--explain", "path=/a", "--json")).isZero();
    assertThat(instance.out.toString()).contains("\"deployment\" : \"v2\"");
  }

  @Test
  void weightsAreSetWhole() {
    instance.answer("PUT " + PATH, 200, "{\"revision\": 7}");
    assertThat(instance.execute("traffic", "/shop", "v2=10.5", "v1=90")).isZero();
    assertThat(instance.lines()).containsExactly("/shop: {v2=10.5, v1=90.0}, revision 7");
    assertThat(instance.asked).singleElement().asString().startsWith("PUT /api/v1/traffic?route=");
    assertThat(FakeInstance.bodyOf(instance.asked.get(0)))
        .isEqualTo(new JsonObject("{\"weights\": {\"v1\": 90.0, \"v2\": 10.5}}"));
    assertThat(instance.execute("traffic", "/all", "shop#v1=1", "--json")).isZero();
    assertThat(instance.out.toString()).contains("\"revision\" : 7");
  }

  @Test
  void whatIsRefusedIsSaid() {
    instance.answer(
        "PUT " + PATH, 400, "{\"code\": \"invalid\", \"message\": \"traffic: v9 (expected: …)\"}");
    instance.answer("GET " + PATH, 404, "{\"code\": \"not_found\", \"message\": \"route: /x\"}");
    assertThat(instance.execute("traffic", "/shop", "v9=1")).isEqualTo(2);
    assertThat(instance.execute("traffic", "/x")).isEqualTo(1);
    assertThat(instance.err.toString()).contains("traffic: v9 (expected").contains("route: /x");
    assertThat(instance.asked).as("it is no application that is looked for").hasSize(2);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          --explain header=a:b | --explain: no ROUTE (expected: ROUTE before it)
          /shop --explain x    | --explain: x (expected: header=NAME: VALUE
          /shop --explain =x   | --explain: =x (expected: header=NAME: VALUE
          /shop v1             | DEPLOYMENT=WEIGHT
          /shop a=1 --explain method=PUT | --explain: beside {a=1.0}
          /shop v1=much        | much
          """)
  void wrongUsageAsksNothing(String line, String said) {
    String[] words = ("traffic " + line).split(" ");
    assertThat(instance.execute(words)).isEqualTo(2);
    assertThat(instance.err.toString()).contains(said);
    assertThat(instance.asked).isEmpty();
  }
}

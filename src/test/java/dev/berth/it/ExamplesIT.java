package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** {@code conf/examples.yaml} as its head says. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ExamplesIT {
  private static final String APPLICATIONS = "/api/serve/applications/";
  @AutoClose private static Server server;

  @BeforeAll
  static void start() throws IOException {
    server =
        Server.start(
            Path.of("conf/examples.yaml"),
            "--host=127.0.0.1",
            "--port=0",
            "--admin-port=0",
            "--set=berth.ephemeral=true");
  }

  @AfterEach
  void everythingIsGivenBack() throws IOException {
    if (!applications().isEmpty()) { // else nothing shows its slots
      GatedServer.assertAtRest(server);
    }
  }

  private HttpResponse<String> get(String path) throws Exception {
    return server.send(server.request(path).build());
  }

  @Test
  void wordsAsksTwoMethodsOfAnotherDeployment() throws Exception {
    HttpResponse<String> response = get("/words?text=hello");
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.body()).isEqualTo("HELLO! has 5 letters\n");
    assertThat(get("/words").statusCode()).isEqualTo(400);
  }

  @Test
  void inferTellsWhatItsModelTakes() throws Exception {
    HttpResponse<String> response = get("/infer");
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(new JsonObject(response.body()).getJsonArray("inputs").encode())
        .isEqualTo("[{\"name\":\"pixels\",\"datatype\":\"FP32\",\"shape\":[-1,64]}]");
  }

  @Test
  void chooseNamesTheReplicaThatAnswered() throws Exception {
    HttpResponse<String> response = get("/choose");
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("x-chosen")).contains(response.body().strip());
    assertThat(response.body()).startsWith("choose#named#");
  }

  @Test
  void rollCallHearsOfEveryReplica() throws Exception {
    List<String> lines = get("/roll-call").body().lines().toList();
    assertThat(lines).hasSize(3).doesNotHaveDuplicates();
    assertThat(lines).allMatch(line -> line.matches("roll-call#named#\\w+: here"));
  }

  @Test
  void shopServesItsRoutesAndTheirDocument() throws Exception {
    HttpResponse<String> item = get("/shop/items/2");
    assertThat(item.body()).isEqualTo("{\"id\":2,\"name\":\"fish\",\"cents\":250}");
    assertThat(get("/shop/items/2/price?count=3").body()).isEqualTo("{\"cents\":750}");
    assertThat(get("/shop/items?name=s").body()).contains("fish", "salt").doesNotContain("bread");
    assertThat(get("/shop/events").body()).isEqualTo("data: bread\n\ndata: fish\n\ndata: salt\n\n");

    HttpResponse<String> head =
        server.send(server.request("/shop/events").method("HEAD", BodyPublishers.noBody()).build());
    assertThat(head.headers().firstValue("content-type")).contains("text/event-stream");
    assertThat(head.headers().firstValue("content-length")).isEmpty();

    HttpResponse<String> refused = get("/shop/items/x/price?count=y");
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(new JsonObject(refused.body()).getJsonArray("problems")).hasSize(2);
    assertThat(get("/shop/items/2%2Fprice").statusCode()).isEqualTo(400);
    assertThat(get("/shop/nothing").statusCode()).isEqualTo(404);

    JsonObject document = new JsonObject(get("/shop/openapi.json").body());
    assertThat(document.getJsonObject("paths")).hasSize(4);
    assertThat(document.getJsonArray("servers").encode()).isEqualTo("[{\"url\":\"/shop\"}]");
    assertThat(document.getJsonObject("paths").fieldNames()).contains("/items/{id}/price");
    assertThat(get("/shop/docs").body()).contains("docs/start.js");
    assertThat(get("/shop/docs/start.js").body()).contains("openapi.json");
    assertThat(item.headers().firstValue("x-berth-route")).isEmpty();
  }

  @Test
  void metersOfHandlersAndHealthChecksAreShown() throws Exception {
    get("/words?text=abc");
    String metrics = server.admin("/metrics");
    assertThat(metrics).containsPattern("example_letters_total\\{application=\"words\",deployment");
    assertThat(metrics).containsPattern("serve_health_check_latency_ms_count\\{");
    assertThat(metrics).contains("serve_deployment_replica_healthy");
  }

  /** The last one, as it takes all away. {@code RayCommandsTest} has the shapes. */
  @Test
  @Order(Integer.MAX_VALUE)
  void whatIsDeployedIsReadReplacedAndDeletedOverHttp() throws Exception {
    JsonObject words = config(applications().getJsonObject("words"));

    HttpResponse<String> refused = put(words.copy().put("args", 3));
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(refused.body()).contains("applications[0].args: 3");
    assertThat(applications()).hasSize(8);

    assertThat(put(words.put("route_prefix", "/other")).statusCode()).isEqualTo(200);
    server.await("it alone", () -> statuses().equals(List.of("RUNNING")));
    assertThat(get("/other?text=hello").body()).isEqualTo("HELLO! has 5 letters\n");
    assertThat(get("/choose").statusCode()).isEqualTo(404);

    assertThat(server.admin("DELETE", APPLICATIONS, "").statusCode()).isEqualTo(200);
    server.await("no application", () -> applications().isEmpty());
    assertThat(get("/other?text=hello").statusCode()).isEqualTo(404);
  }

  private static HttpResponse<String> put(JsonObject application) throws Exception {
    JsonObject config = new JsonObject().put("applications", new JsonArray().add(application));
    return server.admin("PUT", APPLICATIONS, config.encode());
  }

  private static JsonObject applications() {
    return new JsonObject(server.admin(APPLICATIONS)).getJsonObject("applications");
  }

  private static List<String> statuses() {
    return applications().stream()
        .map(each -> ((JsonObject) each.getValue()).getString("status"))
        .toList();
  }

  /** As it was submitted, but from no folder. */
  private static JsonObject config(JsonObject application) {
    JsonObject config = application.getJsonObject("deployed_app_config").copy();
    String jar = Path.of(System.getProperty("berth.examples.jar")).toAbsolutePath().toString();
    return config.put("runtime_env", new JsonObject().put("jars", new JsonArray().add(jar)));
  }
}

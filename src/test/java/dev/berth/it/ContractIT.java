package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.ext.web.openapi.router.RouterBuilder;
import io.vertx.json.schema.JsonSchema;
import io.vertx.openapi.contract.OpenAPIContract;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yaml.snakeyaml.Yaml;

/** A Router from an OpenAPI contract, with vertx-openapi in the jars of the application only. */
class ContractIT {
  @TempDir private static Path folder;
  @AutoClose private static Server server;

  @BeforeAll
  static void start() throws Exception {
    List<String> jars = new ArrayList<>(List.of("app.jar"));
    for (Class<?> each :
        List.of(RouterBuilder.class, OpenAPIContract.class, JsonSchema.class, Yaml.class)) {
      jars.add(
          Path.of(each.getProtectionDomain().getCodeSource().getLocation().toURI()).toString());
    }
    server =
        TestJar.serve(
            folder,
            """
            applications:
            - name: shop
              route_prefix: /shop
              import_path: dev.berth.it.app.ContractApplication:build
              runtime_env: {jars: [%s]}
            """
                .formatted(String.join(", ", jars)));
  }

  private static String get(String path) throws Exception {
    return text(server.send(server.request(path).build()));
  }

  private static String post(String type, String body) throws Exception {
    return text(
        server.send(
            server
                .request("/shop/items")
                .header("content-type", type)
                .POST(BodyPublishers.ofString(body))
                .build()));
  }

  private static String text(HttpResponse<String> response) {
    return response.statusCode() + " " + response.body();
  }

  @Test
  void validRequestsReachTheirOperation() throws Exception {
    assertThat(get("/shop/items/5")).isEqualTo("200 {\"id\":5}");
    assertThat(post("application/json", "{\"name\":\"salt\"}"))
        .isEqualTo("201 {\"name\":\"salt\",\"id\":7}");
    assertThat(server.admin("/metrics")).contains("route=\"/shop/items/:id\"");
  }

  @Test
  void invalidRequestsAreRefusedWithTheReason() throws Exception {
    assertThat(get("/shop/items/x")).startsWith("400 ").contains("path parameter id");
    assertThat(post("application/json", "{\"nam\":1}")).startsWith("400 ").contains("\"name\"");
    assertThat(post("application/json", "{")).startsWith("400 ").contains("decoded");
    assertThat(post("text/plain", "x")).startsWith("400 ").contains("format");
  }

  @Test
  void unknownPathIsNotFound() throws Exception {
    assertThat(get("/shop/other")).startsWith("404 ");
  }
}

package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.code.CompiledJar;
import dev.berth.config.ConfigReader;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole instances, with policies of users' own in jars. */
class PolicyIT {
  private static final String SEEN = "dev.berth.node.PolicyIT.seen";

  @TempDir Path folder;

  @AfterEach
  void unseen() {
    System.clearProperty(SEEN);
  }

  private TestNode start() throws Exception {
    Path file =
        Files.writeString(
            folder.resolve("test.yaml"),
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications:
            - name: stuck
              import_path: acme.Shop:build
              route_prefix: /stuck
              runtime_env: {jars: [shop.jar]}
              autoscaling_policy: {policy_function: 'acme.Shop$Stuck'}
              deployments: [{name: shop, autoscaling_config: {max_replicas: 9}}]
            berth: {event_loops: 1, admin: {port: 0}, shutdown_timeout_s: 5, state_dir: state}
            """);
    return new TestNode(ConfigReader.readToStart(file, List.of()));
  }

  private static final String SHOP =
      """
      {"name": "shop", "import_path": "acme.Shop:build", "route_prefix": "/shop",
       "runtime_env": {"jars": ["shop.jar"]},
       "deployments": [{"name": "shop", "autoscaling_config": {"max_replicas": 9,
         "upscale_delay_s": 0, "policy": {"policy_function": "acme.Shop$Pace"}}}]}
      """;

  private void jar() throws Exception {
    CompiledJar.in(
        folder,
        "shop.jar",
        """
        package acme;
        import dev.berth.api.*;
        import dev.berth.api.spi.AutoscalingPolicy;
        import io.vertx.core.Future;
        import java.util.Map;
        public final class Shop {
          public static Application build() {
            AsyncHandler handler = (request, context) -> Future.succeededFuture(Response.text("ok"));
            return Application.of(Deployment.of("shop", replica -> handler));
          }
          public static Application deep() {
            return Application.of(Deployment.of("deep", replica -> new Deep()));
          }
          public static final class Deep implements BlockingHandler {
            private int calls;
            public Response handle(Request request, RequestContext context) {
              return Response.text("ok");
            }
            public Future<Map<String, Integer>> recordAutoscalingStats() throws Exception {
              if (++calls == 1) {
                throw new java.io.IOException("not yet");
              }
              return Future.succeededFuture(Map.of("depth", 4));
            }
          }
          public static final class Deepest implements AutoscalingPolicy {
            public Answer decide(Context now) {
              return Answer.of(
                  now.stats().values().stream().mapToDouble(one -> one.get("depth")).max()
                      .orElse(1));
            }
          }
          public static final class Pace implements AutoscalingPolicy {
            public Answer decide(Context now) {
              int asks = 1 + (int) now.state().getOrDefault("asks", 0);
              System.setProperty("%s", asks + " " + Thread.currentThread().getName());
              return new Answer(1 + asks, Map.of("asks", asks));
            }
          }
          public static final class Stuck implements AutoscalingPolicy {
            public synchronized Answer decide(Context now) {
              while (true) {
                try {
                  wait();
                } catch (InterruptedException unheeded) {
                }
              }
            }
          }
        }
        """
            .formatted(SEEN));
  }

  private static double metric(TestNode node, String name) {
    Matcher value =
        Pattern.compile("^" + Pattern.quote(name) + "[^ ]* (\\S+)$", Pattern.MULTILINE)
            .matcher(node.admin("GET", "/metrics", "").body());
    return value.find() ? Double.parseDouble(value.group(1)) : -1;
  }

  private static int asks() {
    return Integer.parseInt(System.getProperty(SEEN, "0 ").split(" ", 2)[0]);
  }

  private static long replicas(TestNode node, String application) {
    return node.admin("GET", "/metrics", "")
        .body()
        .lines()
        .filter(line -> line.startsWith("serve_deployment_replica_healthy{"))
        .filter(line -> line.contains("application=\"" + application + "\""))
        .filter(line -> line.endsWith(" 1.0") || line.endsWith(" 1"))
        .count();
  }

  @Test
  void whatHandlersTellScalesThemAndIsShown() throws Exception {
    jar();
    try (TestNode node = start()) {
      HttpResponse<String> put =
          node.admin(
              "PUT",
              "/api/v1/applications/deep",
              SHOP.replace("shop\"", "deep\"")
                  .replace("Pace", "Deepest")
                  .replace("Shop:build", "Shop:deep"));
      assertThat(put.statusCode()).as(put.body()).isEqualTo(200);
      String path = "/api/v1/applications/deep/deployments/deep/autoscaling";
      TestNode.until(() -> replicas(node, "deep") == 4, () -> node.admin("GET", path, "").body());
      assertThat(node.admin("GET", path, "").body()).containsPattern("\"depth\" ?: ?4");
      assertThat(node.admin("GET", "/metrics", "").body())
          .containsPattern("serve_user_autoscaling_stats_latency_ms_count\\{.*deep.*} [1-9]")
          .containsPattern(
              "serve_record_autoscaling_stats_failed_total\\{.*java.io.IOException.*} 1");
    }
  }

  @Test
  void aPolicyRemembersOverARestartAndOneThatHeedsNothingCostsOneThreadAndHoldsUpNobody()
      throws Exception {
    jar();
    try (TestNode node = start()) {
      HttpResponse<String> put = node.admin("PUT", "/api/v1/applications/shop", SHOP);
      assertThat(put.statusCode()).as(put.body()).isEqualTo(200);
      TestNode.until(
          () -> replicas(node, "shop") >= 3, () -> System.getProperty(SEEN, "not asked"));
      assertThat(System.getProperty(SEEN)).contains("berth-policy-shop-");
      TestNode.until(() -> metric(node, "berth_lost_threads") == 1, () -> "no thread is lost");
      String stuck = "{application=\"stuck\",deployment=\"shop\"";
      assertThat(metric(node, "berth_autoscaling_policy_failures_total" + stuck)).isEqualTo(1);
      String took = "serve_autoscaling_policy_execution_time_ms" + stuck;
      assertThat(metric(node, took)).as("from its begin until it was given up").isPositive();
      TestNode.until(() -> replicas(node, "shop") == 9, () -> System.getProperty(SEEN));
      assertThat(replicas(node, "stuck")).isEqualTo(1);
      assertThat(node.get("/stuck").body()).isEqualTo("ok");
      assertThat(node.get("/shop").body()).isEqualTo("ok");
    }
    assertThat(asks()).isGreaterThanOrEqualTo(8);
    System.clearProperty(SEEN);
    try (TestNode node = start()) {
      TestNode.until(() -> asks() > 0, () -> "not asked");
      assertThat(asks()).isGreaterThanOrEqualTo(8);
      assertThat(replicas(node, "shop")).isEqualTo(9);
    }
  }
}

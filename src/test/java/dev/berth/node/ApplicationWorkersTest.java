package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The threads on which applications run {@code executeBlocking}, in an instance in this JVM. */
class ApplicationWorkersTest {
  private static final int THREADS = 3;
  private static final int LOOPS = 2;

  private TestNode node;

  @BeforeEach
  void start() throws Exception {
    node =
        new TestNode(
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications: [%s, %s]
            berth: {event_loops: %d, ephemeral: true, admin: {port: 0}, shutdown_timeout_s: 5,
              application_worker_threads: %d}
            """
                .formatted(entry("a"), entry("b"), LOOPS, THREADS));
  }

  @AfterEach
  void stop() {
    TestApplications.openGates();
    node.close();
  }

  private static String entry(String name) {
    return "{name: %s, route_prefix: /%s, import_path: 'dev.berth.node.TestApplications:works', args: {held: '%s held'}}"
        .formatted(name, name, name);
  }

  private List<CompletableFuture<HttpResponse<String>>> block(String application, int times) {
    List<CompletableFuture<HttpResponse<String>>> held = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      held.add(node.getAsync("/" + application + "/held"));
    }
    TestApplications.gate(application + " held").entered.join();
    TestNode.until(() -> busy(application) >= 2, () -> "its threads do not block");
    return held;
  }

  /** One that is ordered at each loop, and the others beside it. */
  private double busy(String application) {
    String metrics = node.admin("GET", "/metrics", "").body();
    return Pattern.compile("(?m)^berth_worker_threads_busy\\{.*\"" + application + "\".*} (.*)$")
        .matcher(metrics)
        .results()
        .mapToDouble(found -> Double.parseDouble(found.group(1)))
        .sum();
  }

  @Test
  void everyPointOfARequestUsesItsApplicationsPool() {
    for (String application : List.of("a", "b")) {
      String threads = node.get("/" + application).body();
      assertThat(Pattern.compile("[\\w.-]*worker[\\w.-]*").matcher(threads).results())
          .as(threads)
          .hasSize(4)
          .extracting(MatchResult::group)
          .allMatch(each -> each.startsWith("berth-worker-" + application + "-"));
    }
  }

  @Test
  void blockedPoolDelaysNoOtherApplicationAndNoOperator() throws Exception {
    List<CompletableFuture<HttpResponse<String>>> held = block("a", 40);
    assertThat(node.getAsync("/b").get(5, TimeUnit.SECONDS).body()).contains("berth-worker-b-");
    assertThat(node.admin("GET", "/metrics", "").statusCode()).isEqualTo(200);
    HttpResponse<String> deployed =
        node.admin("PUT", "/api/v1/applications/c", entry("c").replace('\'', '"'));
    assertThat(deployed.statusCode()).as(deployed.body()).isEqualTo(200);
    TestNode.until(() -> node.get("/c").statusCode() == 200, () -> "c does not answer");
    assertThat(busy("a")).isLessThanOrEqualTo(THREADS);
    TestApplications.openGates();
    for (CompletableFuture<HttpResponse<String>> each : held) {
      assertThat(each.get(10, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
    }
  }

  @Test
  void deletedApplicationLosesItsThreads() {
    block("a", 1);
    assertThat(node.admin("DELETE", "/api/v1/applications/a", "").statusCode()).isEqualTo(200);
    TestApplications.openGates();
    TestNode.until(
        () -> !node.admin("GET", "/metrics", "").body().contains("berth_worker_threads_busy{"),
        () -> "its pool stays");
  }
}

package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * {@code berth.metrics.vertx}: what Vert.x counts stands beside Berth's own, if it is asked for.
 */
class VertxMetersTest {
  private static final String CONFIG =
      """
      http_options: {port: 0}
      applications:
        - {name: plain, route_prefix: /plain, import_path: "dev.berth.node.TestApplications:plain"}
      berth: {event_loops: 1, admin: {port: 0}, shutdown_timeout_s: 5, metrics: {vertx: %s}}
      """;

  private static String metrics(String wanted) throws Exception {
    try (TestNode node = new TestNode(CONFIG.formatted(wanted))) {
      for (int i = 0; i < 3; i++) {
        node.get("/plain");
      }
      return node.admin("GET", "/metrics", "").body();
    }
  }

  private static Set<String> families(String metrics) {
    Set<String> names = new TreeSet<>();
    Pattern.compile("# TYPE (vertx_\\S+)")
        .matcher(metrics)
        .results()
        .map((MatchResult each) -> each.group(1))
        .forEach(names::add);
    return names;
  }

  @Test
  void allOfItStandsBesideOurOwn() throws Exception {
    String all = metrics("[http_server, http_client, net, event_bus, pools]");
    assertThat(families(all))
        .anyMatch(name -> name.startsWith("vertx_http_server_"))
        .anyMatch(name -> name.startsWith("vertx_eventbus_"))
        .anyMatch(name -> name.startsWith("vertx_pool_"));
    assertThat(all).contains("serve_num_http_requests");
  }

  @Test
  void onlyWhatIsAskedForIsCounted() throws Exception {
    assertThat(families(metrics("[pools]")))
        .isNotEmpty()
        .allMatch(n -> n.startsWith("vertx_pool_"));
  }
}

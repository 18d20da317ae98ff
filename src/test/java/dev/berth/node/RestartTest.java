package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.code.CompiledJar;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole instances over one directory, one after the other. */
class RestartTest {
  private static final String TRIED = "dev.berth.node.RestartTest.tried";

  private static final String ENTRY =
      "{name: shop, import_path: 'acme.Shop:build', route_prefix: /shop, runtime_env: {jars:"
          + " [shop.jar]}, deployments: [{name: shop, berth: {max_constructor_retry_count: 1}}]}";

  @TempDir Path folder;

  private TestNode start(String applications) throws Exception {
    return start(applications, "state");
  }

  private TestNode start(String applications, String stateDir) throws Exception {
    Path file =
        Files.writeString(
            folder.resolve("test.yaml"),
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications: [%s]
            berth: {event_loops: 1, admin: {port: 0}, shutdown_timeout_s: 5, state_dir: %s}
            """
                .formatted(applications, stateDir));
    ServeConfig config = ConfigReader.readToStart(file, List.of());
    return new TestNode(config);
  }

  private Path jar(String answer) throws IOException {
    return CompiledJar.in(
        folder,
        "shop.jar",
        """
        package acme;
        import dev.berth.api.*;
        import io.vertx.core.Future;
        public final class Shop {
          public static Application build() {
            AsyncHandler handler =
                (request, context) -> Future.succeededFuture(Response.text("%s"));
            return Application.of(Deployment.of("shop", replica -> handler));
          }
        }
        """
            .formatted(answer));
  }

  /** It says in a system property that it was tried. */
  private void jarThatDoesNotStart() throws IOException {
    CompiledJar.in(
        folder,
        "shop.jar",
        """
        package acme;
        import dev.berth.api.*;
        public final class Shop {
          public static Application build() {
            return Application.of(Deployment.of("shop", replica -> {
              System.setProperty("%s", "yes");
              throw new IllegalStateException("no model");
            }));
          }
        }
        """
            .formatted(TRIED));
  }

  private static int deploy(TestNode node, String entry) {
    return put(node, "shop", entry);
  }

  private static int put(TestNode node, String name, String entry) {
    return node.admin("PUT", "/api/v1/applications/" + name, entry).statusCode();
  }

  private static void post(TestNode node, String path) {
    HttpResponse<String> answer =
        node.admin("POST", path, "{}", "Content-Type", "application/json");
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
  }

  /** The shop as operators see it, once it has that status. */
  private static JsonObject awaitStatus(TestNode node, String expected) {
    AtomicReference<JsonObject> last = new AtomicReference<>(new JsonObject());
    TestNode.until(
        () -> {
          new JsonObject(node.admin("GET", "/api/v1/serve", "").body())
              .getJsonArray("applications").stream()
                  .map(JsonObject.class::cast)
                  .filter(each -> "shop".equals(each.getString("name")))
                  .forEach(last::set);
          return expected.equals(last.get().getString("status"));
        },
        () -> "last: " + last);
    return last.get();
  }

  private void copy(String from, String to) throws IOException {
    try (Stream<Path> files = Files.walk(folder.resolve(from))) {
      for (Path file : files.toList()) {
        Files.copy(file, folder.resolve(to).resolve(folder.resolve(from).relativize(file)));
      }
    }
  }

  private static void awaitAnswer(TestNode node, String expected) {
    TestNode.until(() -> node.get("/shop").body().equals(expected), () -> node.get("/shop").body());
  }

  @AfterEach
  void forget() {
    System.clearProperty(TRIED);
  }

  @Test
  void whatWasDeployedServesAgainFromTheJarThatItWasDeployedWith() throws Exception {
    jar("one");
    try (TestNode first = start("")) {
      assertThat(deploy(first, ENTRY)).isEqualTo(200);
      awaitAnswer(first, "one");
      assertThat(deploy(first, "{import_path: acme.Shop, colour: red}")).isEqualTo(400);
      jar("two"); // written over, and not deployed
    }
    try (TestNode second = start("")) {
      awaitAnswer(second, "one");
      assertThat(deploy(second, ENTRY)).isEqualTo(200);
      awaitAnswer(second, "two");
    }
  }

  @Test
  void whatRanBeforeServesOnWhenTheControllerOrTheProcessStartsAnewAfterAFailedDeploy()
      throws Exception {
    jar("one");
    try (TestNode first = start("")) {
      assertThat(deploy(first, ENTRY)).isEqualTo(200);
      awaitStatus(first, "RUNNING");
      jarThatDoesNotStart();
      assertThat(deploy(first, ENTRY)).isEqualTo(200);
      assertThat(awaitStatus(first, "DEPLOY_FAILED").getString("message")).contains("no model");
      assertThat(System.clearProperty(TRIED)).isEqualTo("yes");

      post(first, "/api/v1/controller/restart");

      assertServesTheEarlierRevision(first);
      copy("state", "crashed"); // what a crash would leave now
    }
    try (TestNode second = start("", "crashed")) {
      assertServesTheEarlierRevision(second);
      post(second, "/api/v1/applications/shop/rollback");
      assertThat(awaitStatus(second, "RUNNING").getLong("revision")).isEqualTo(3);
      awaitAnswer(second, "one");
      assertThat(System.getProperty(TRIED)).as("only a deploy tries it again").isNull();
      assertThat(deploy(second, ENTRY)).isEqualTo(200);
      awaitStatus(second, "DEPLOY_FAILED");
      assertThat(System.getProperty(TRIED)).isEqualTo("yes");
      awaitAnswer(second, "one");
    }
  }

  @Test
  void whatAFileSaysAnewAndDoesNotStartLeavesWhatIsKeptAndTheProcess() throws Exception {
    jar("one");
    try (TestNode first = start("")) {
      assertThat(deploy(first, ENTRY)).isEqualTo(200);
      awaitStatus(first, "RUNNING");
    }
    jarThatDoesNotStart();
    try (TestNode second = start(ENTRY)) { // who names it first, declares it
      awaitAnswer(second, "one");
      assertServesTheEarlierRevision(second);
    }
    System.clearProperty(TRIED);
    try (TestNode third = start(ENTRY)) {
      assertServesTheEarlierRevision(third);
      assertThat(System.getProperty(TRIED)).as("the file says it no more").isNull();
    }
  }

  @Test
  void anEntryThatCannotBeUsedFailsAloneAndSaysWhy() throws Exception {
    jar("one");
    try (TestNode first = start("")) {
      assertThat(
              put(
                  first,
                  "other",
                  ENTRY.replace("name: shop, import", "import").replace("/shop", "/other")))
          .isEqualTo(200);
    }
    try (TestNode second = start("{name: shop, route_prefix: /shop, colour: red}")) {
      JsonObject shop = awaitStatus(second, "DEPLOY_FAILED");
      assertThat(shop.getString("message")).contains("colour: unknown key", "import_path: missing");
      assertThat(shop.getLong("revision")).isZero();
      post(second, "/api/v1/controller/restart");
      awaitStatus(second, "DEPLOY_FAILED");
      assertThat(deploy(second, ENTRY)).isEqualTo(200);
      awaitAnswer(second, "one");
    }
  }

  private static void assertServesTheEarlierRevision(TestNode node) throws Exception {
    JsonObject shop = awaitStatus(node, "DEPLOY_FAILED");
    assertThat(shop.getString("message")).contains("no model").endsWith("; revision 1 serves");
    assertThat(shop.getLong("revision")).isEqualTo(2);
    assertThat(shop.getLong("rollback_revision")).isEqualTo(1);
    awaitAnswer(node, "one");
  }
}

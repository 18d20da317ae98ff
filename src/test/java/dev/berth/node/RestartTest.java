package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.code.CompiledJar;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole instances over one directory, one after the other. */
class RestartTest {
  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  private static final String TRIED = "dev.berth.node.RestartTest.tried";

  @TempDir Path folder;

  private BerthNode start(String applications) throws Exception {
    return start(applications, "state");
  }

  private BerthNode start(String applications, String stateDir) throws Exception {
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
    return await(BerthNode.start(config));
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
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

  private static HttpResponse<String> deploy(BerthNode node, String entry) throws Exception {
    return put(node, "shop", entry);
  }

  private static HttpResponse<String> put(BerthNode node, String name, String entry)
      throws Exception {
    return CLIENT.send(
        admin(node, "/api/v1/applications/" + name).PUT(BodyPublishers.ofString(entry)).build(),
        BodyHandlers.ofString());
  }

  private static void post(BerthNode node, String path) throws Exception {
    HttpResponse<String> answer =
        CLIENT.send(
            admin(node, path).POST(BodyPublishers.ofString("{}")).build(), BodyHandlers.ofString());
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
  }

  private static HttpRequest.Builder admin(BerthNode node, String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node.adminPort() + path))
        .header("Content-Type", "application/json");
  }

  /** The shop as operators see it, once it has that status. */
  private static JsonObject awaitStatus(BerthNode node, String expected) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (true) {
      String body =
          CLIENT.send(admin(node, "/api/v1/serve").build(), BodyHandlers.ofString()).body();
      JsonObject shop =
          new JsonObject(body)
              .getJsonArray("applications").stream()
                  .map(JsonObject.class::cast)
                  .filter(each -> "shop".equals(each.getString("name")))
                  .findFirst()
                  .orElseGet(JsonObject::new);
      if (expected.equals(shop.getString("status"))) {
        return shop;
      }
      assertThat(System.nanoTime() - deadline).as("last: " + body).isNegative();
      new CompletableFuture<Void>().completeOnTimeout(null, 10, TimeUnit.MILLISECONDS).join();
    }
  }

  private void copy(String from, String to) throws IOException {
    try (Stream<Path> files = Files.walk(folder.resolve(from))) {
      for (Path file : files.toList()) {
        Files.copy(file, folder.resolve(to).resolve(folder.resolve(from).relativize(file)));
      }
    }
  }

  private static void awaitAnswer(BerthNode node, String expected) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    String last = "";
    while (!last.equals(expected)) {
      assertThat(System.nanoTime() - deadline).as("last: " + last).isNegative();
      last =
          CLIENT
              .send(
                  HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node.port() + "/shop"))
                      .build(),
                  BodyHandlers.ofString())
              .body();
      new CompletableFuture<Void>().completeOnTimeout(null, 10, TimeUnit.MILLISECONDS).join();
    }
  }

  @AfterEach
  void forget() {
    System.clearProperty(TRIED);
  }

  @Test
  void whatWasDeployedServesAgainFromTheJarThatItWasDeployedWith() throws Exception {
    String entry =
        "{import_path: 'acme.Shop:build', route_prefix: /shop, runtime_env: {jars: [shop.jar]}}";
    jar("one");
    BerthNode first = start("");
    try {
      assertThat(deploy(first, entry).statusCode()).isEqualTo(200);
      awaitAnswer(first, "one");
      assertThat(deploy(first, "{import_path: acme.Shop, colour: red}").statusCode())
          .isEqualTo(400);
      jar("two"); // written over, and not deployed
    } finally {
      await(first.close());
    }
    BerthNode second = start("");
    try {
      awaitAnswer(second, "one");
      assertThat(deploy(second, entry).statusCode()).isEqualTo(200);
      awaitAnswer(second, "two");
    } finally {
      await(second.close());
    }
  }

  @Test
  void whatRanBeforeServesOnWhenTheControllerOrTheProcessStartsAnewAfterAFailedDeploy()
      throws Exception {
    String entry =
        "{import_path: 'acme.Shop:build', route_prefix: /shop, runtime_env: {jars: [shop.jar]},"
            + " deployments: [{name: shop, berth: {max_constructor_retry_count: 1}}]}";
    jar("one");
    BerthNode first = start("");
    try {
      assertThat(deploy(first, entry).statusCode()).isEqualTo(200);
      awaitStatus(first, "RUNNING");
      jarThatDoesNotStart();
      assertThat(deploy(first, entry).statusCode()).isEqualTo(200);
      assertThat(awaitStatus(first, "DEPLOY_FAILED").getString("message")).contains("no model");
      assertThat(System.clearProperty(TRIED)).isEqualTo("yes");

      post(first, "/api/v1/controller/restart");

      assertServesTheEarlierRevision(first);
      copy("state", "crashed"); // what a crash would leave now
    } finally {
      await(first.close());
    }
    BerthNode second = start("", "crashed");
    try {
      assertServesTheEarlierRevision(second);
      post(second, "/api/v1/applications/shop/rollback");
      assertThat(awaitStatus(second, "RUNNING").getLong("revision")).isEqualTo(3);
      awaitAnswer(second, "one");
      assertThat(System.getProperty(TRIED)).as("only a deploy tries it again").isNull();
      assertThat(deploy(second, entry).statusCode()).isEqualTo(200);
      awaitStatus(second, "DEPLOY_FAILED");
      assertThat(System.getProperty(TRIED)).isEqualTo("yes");
      awaitAnswer(second, "one");
    } finally {
      await(second.close());
    }
  }

  @Test
  void whatAFileSaysAnewAndDoesNotStartLeavesWhatIsKeptAndTheProcess() throws Exception {
    String entry =
        "{name: shop, import_path: 'acme.Shop:build', route_prefix: /shop, runtime_env: {jars:"
            + " [shop.jar]}, deployments: [{name: shop, berth: {max_constructor_retry_count: 1}}]}";
    jar("one");
    BerthNode first = start("");
    try {
      assertThat(deploy(first, entry).statusCode()).isEqualTo(200);
      awaitStatus(first, "RUNNING");
    } finally {
      await(first.close());
    }
    jarThatDoesNotStart();
    BerthNode second = start(entry); // who names it first, declares it
    try {
      awaitAnswer(second, "one");
      assertServesTheEarlierRevision(second);
    } finally {
      await(second.close());
    }
    System.clearProperty(TRIED);
    BerthNode third = start(entry);
    try {
      assertServesTheEarlierRevision(third);
      assertThat(System.getProperty(TRIED)).as("the file says it no more").isNull();
    } finally {
      await(third.close());
    }
  }

  @Test
  void anEntryThatCannotBeUsedFailsAloneAndSaysWhy() throws Exception {
    String entry =
        "{import_path: 'acme.Shop:build', route_prefix: /other, runtime_env: {jars: [shop.jar]}}";
    jar("one");
    BerthNode first = start("");
    try {
      assertThat(put(first, "other", entry).statusCode()).isEqualTo(200);
    } finally {
      await(first.close());
    }
    BerthNode second = start("{name: shop, route_prefix: /shop, colour: red}");
    try {
      JsonObject shop = awaitStatus(second, "DEPLOY_FAILED");
      assertThat(shop.getString("message")).contains("colour: unknown key", "import_path: missing");
      assertThat(shop.getLong("revision")).isZero();
      post(second, "/api/v1/controller/restart");
      awaitStatus(second, "DEPLOY_FAILED");
      assertThat(deploy(second, entry.replace("/other", "/shop")).statusCode()).isEqualTo(200);
      awaitAnswer(second, "one");
    } finally {
      await(second.close());
    }
  }

  private static void assertServesTheEarlierRevision(BerthNode node) throws Exception {
    JsonObject shop = awaitStatus(node, "DEPLOY_FAILED");
    assertThat(shop.getString("message")).contains("no model").endsWith("; revision 1 serves");
    assertThat(shop.getLong("revision")).isEqualTo(2);
    assertThat(shop.getLong("rollback_revision")).isEqualTo(1);
    awaitAnswer(node, "one");
  }
}

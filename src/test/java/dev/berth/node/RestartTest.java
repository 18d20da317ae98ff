package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import io.vertx.core.Future;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole instances over one directory, one after the other. */
class RestartTest {
  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  @TempDir Path folder;

  private BerthNode start(String applications) throws Exception {
    ServeConfig config =
        ConfigReader.read(
            "test.yaml",
            folder,
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications: [%s]
            berth: {event_loops: 1, admin: {port: 0}, shutdown_timeout_s: 5, state_dir: state}
            """
                .formatted(applications));
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

  private static HttpResponse<String> deploy(BerthNode node, String entry) throws Exception {
    return CLIENT.send(
        HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + node.adminPort() + "/api/v1/applications/shop"))
            .header("Content-Type", "application/json")
            .PUT(BodyPublishers.ofString(entry))
            .build(),
        BodyHandlers.ofString());
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
}

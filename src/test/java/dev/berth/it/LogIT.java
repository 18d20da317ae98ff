package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The log of an application that says something in every way there is. */
class LogIT {
  /** The server's own lines: of an application they say it, and of the instance there is none. */
  private static final Predicate<JsonObject> SERVERS =
      line -> line.getString("logger").matches("berth|(dev\\.berth|io\\.netty|io\\.vertx)\\..*");

  private static final String CONFIG =
      """
          logging_config: {encoding: JSON}
          applications:
            - name: talk
              route_prefix: /
              import_path: dev.berth.it.app.TalkingApplication:build
              runtime_env: {jars: [app.jar]}
          """;

  private static HttpResponse<String> ask(Server server, String path) throws Exception {
    return server.send(
        server
            .request(path)
            .header("x-request-id", "id-of-" + path.substring(1))
            .header("x-berth-explain", "1")
            .build());
  }

  /** A process whose whole output is what a collector of logs would read. */
  @Test
  void everyLineIsOneObjectAndSaysWhoseItIs(@TempDir Path folder) throws Exception {
    List<JsonObject> lines = new ArrayList<>();
    try (Server server = TestJar.serve(folder, CONFIG)) {
      for (String path : List.of("/plain", "/huge", "/thread", "/trace")) {
        assertThat(ask(server, path).body()).as(path).isEqualTo("said");
      }
      for (String path : List.of("/fails", "/deep", "/unspeakable")) {
        assertThat(ask(server, path).statusCode()).as(path).isEqualTo(500);
      }
      assertThat(server.admin("/api/v1/requests/id-of-fails/explain"))
          .as("who failed, and of what")
          .contains("talk#back", "java.lang.IllegalStateException", "no stock");
      JsonArray kept =
          new JsonObject(server.admin("/api/v1/logs?application=talk&limit=10000"))
              .getJsonArray("lines");
      assertThat(kept.encode())
          .as("what berth logs shows")
          .contains("slf4j in back", "jul in back", "stdout {}", "stderr in back");
      server.await("the end of its own thread", () -> server.prints(l -> l.contains("its own th")));
      server.terminate();
      assertThat(server.exitCode()).isZero();
      for (String line : server.output()) {
        lines.add(new JsonObject(line)); // throws if it is none
      }
    }
    List<JsonObject> said = lines.stream().filter(SERVERS.negate()).toList();
    assertThat(said)
        .allSatisfy(line -> assertThat(line.getString("application")).isEqualTo("talk"));
    for (String where :
        List.of(
            "from its static initializer",
            "from its builder",
            "while it is made",
            "in start",
            "in the background",
            "in front",
            "after a delay",
            "in back",
            "with an answer",
            "with a failure",
            "on its own thread",
            "in stop")) {
      assertThat(said).as(where).anyMatch(line -> line.getString("message").contains(where));
    }
    for (String where : List.of("in front", "after a delay", "in back", "with an answer")) {
      assertThat(said)
          .filteredOn(line -> line.getString("message").endsWith(" " + where))
          .as(where)
          .allSatisfy(
              line -> assertThat(line.getString("request_id")).as("%s", line).startsWith("id-of-"));
    }
    ofOneRequest(said);
    failures(lines);
    assertThat(said)
        .filteredOn(line -> line.getString("message").startsWith("huge "))
        .singleElement()
        .satisfies(line -> assertThat(line.getString("message").length()).isLessThan(20_000));
    assertThat(said)
        .filteredOn(line -> line.getString("logger").equals("uncaught"))
        .singleElement()
        .satisfies(
            line -> assertThat(line.getString("exception")).contains("the end of its own thread"));
  }

  /** What an operator does who has the id of a request. */
  private static void ofOneRequest(List<JsonObject> said) {
    List<JsonObject> found =
        said.stream().filter(line -> "id-of-plain".equals(line.getString("request_id"))).toList();
    assertThat(found)
        .extracting(line -> line.getString("logger"))
        .containsOnly("com.acme.Library", "com.acme.Old", "stdout", "stderr", "talk.front");
    assertThat(found)
        .extracting(line -> line.getString("deployment"))
        .containsOnly("front", "back");
    assertThat(found).allMatch(line -> line.getString("replica").startsWith("talk#"));
  }

  private static void failures(List<JsonObject> lines) {
    List<JsonObject> failed =
        lines.stream()
            .filter(line -> line.getString("logger").equals("dev.berth.replica.log.FailureLog"))
            .toList();
    assertThat(failed)
        .extracting(line -> line.getString("request_id") + " " + line.getString("deployment"))
        .containsExactlyInAnyOrder(
            "id-of-fails back", "id-of-deep front", "id-of-unspeakable front");
    assertThat(failed)
        .allSatisfy(line -> assertThat(line.getString("exception")).hasSizeLessThan(20_000));
    assertThat(Set.copyOf(failed)).hasSize(3);
  }
}

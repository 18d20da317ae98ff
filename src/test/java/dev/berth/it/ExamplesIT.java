package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** {@code conf/examples.yaml} as its head says. */
class ExamplesIT {
  private static Server server;

  @BeforeAll
  static void start() throws IOException {
    server = Server.start(Path.of("conf/examples.yaml"));
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @AfterEach
  void everythingIsGivenBack() throws IOException {
    SlotsIT.assertAtRest(server);
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
  void metersOfHandlersAndHealthChecksAreShown() throws Exception {
    get("/words?text=abc");
    String metrics = server.admin("/metrics");
    assertThat(metrics).containsPattern("example_letters_total\\{application=\"words\",deployment");
    assertThat(metrics).containsPattern("serve_health_check_latency_ms_count\\{");
    assertThat(metrics).contains("serve_deployment_replica_healthy");
  }
}

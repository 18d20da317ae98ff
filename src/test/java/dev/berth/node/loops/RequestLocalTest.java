package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.node.TestNode;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whose work the log says it is, wherever a handler's code runs. */
class RequestLocalTest {
  private static final List<String> POINTS =
      List.of("called", "after", "answer", "chosen", "dispatched", "failed", "late");

  @Test
  void nobodysWorkIsNamedNobodys() {
    assertThat(RequestLocal.fields()).isEmpty();
  }

  /** Many at once on two loops, so that the callbacks of one come between those of others. */
  @ParameterizedTest
  @CsvSource({"direct", "event_bus"})
  void everyCallbackOfARequestIsNamedAsItsWork(String carrier) throws Exception {
    try (TestNode node =
        new TestNode(
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications:
              - {name: shop, import_path: 'dev.berth.node.TestApplications:whose'}
            berth: {event_loops: 2, admin: {port: 0}, messages: %s}
            """
                .formatted(carrier))) {
      List<CompletableFuture<String>> answers =
          IntStream.range(0, 20)
              .mapToObj(i -> node.getAsync("/", "x-request-id", "r-" + i))
              .map(sent -> sent.thenApply(HttpResponse::body))
              .toList();
      for (int i = 0; i < answers.size(); i++) {
        String answer = answers.get(i).get(20, TimeUnit.SECONDS);
        String id = "request_id=r-" + i + "}";
        String front = "{application=shop, deployment=front, replica=shop#front#";
        assertThat(answer.strip().lines().filter(line -> line.startsWith("blocking ")))
            .singleElement()
            .asString()
            .contains("application=shop", "deployment=blocking", "request_id=r-" + i);
        for (String point : POINTS) {
          assertThat(answer.lines().filter(line -> line.startsWith(point + " ")))
              .as("%s of %s", point, answer)
              .singleElement()
              .asString()
              .startsWith(point + " " + front)
              .endsWith(id);
        }
      }
    }
  }
}

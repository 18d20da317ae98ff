package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Deployments behind deployments: how cancellation, timeouts and streams go through them. */
class CompositionIT extends GatedServer {
  @BeforeAll
  static void start(@TempDir Path folder) throws IOException {
    server =
        TestJar.serve(
            folder,
            """
                applications:
                  - name: composed
                    route_prefix: /
                    import_path: dev.berth.it.app.ComposedApplication:build
                    runtime_env: {jars: [app.jar]}
                    deployments:
                      - {name: child, max_ongoing_requests: 1}
                      - {name: stream, max_ongoing_requests: 1, num_replicas: 2}
                """);
  }

  // --- cancellation ---

  @Test
  void aClientThatLeavesCancelsItsRequestAndTheCallsMadeForIt() throws Exception {
    Client leaving = client().get(gate.path("/both", "child"));
    Map<String, Gate.Visitor> running = gate.next(2);
    leaving.leave();
    assertThat(running.get("parent").says()).isEqualTo("cancelled");
    assertThat(running.get("child").says()).isEqualTo("cancelled");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/child", "/blocking"})
  void aCallThatItsParentAwaitsIsCancelledWithIt(String path) throws Exception {
    Client leaving = client().get(gate.path(path, "child"));
    Gate.Visitor running = gate.next();
    leaving.leave();
    assertThat(running.says()).isEqualTo("cancelled");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/child", "/blocking", "/both"})
  void aCallThatWaitsForItsChildIsCancelledWithItsParentAndNeverRuns(String path) throws Exception {
    Client first = client().get(gate.path("/child", "first"));
    Gate.Visitor running = gate.next();
    Client leaving = client().get(gate.path(path, "leaving"));
    awaitQueued(1);
    leaving.leave();
    awaitQueued(0);
    Client third = client().get(gate.path("/child", "third"));
    awaitQueued(1);

    running.release();
    assertThat(first.answer().body()).isEqualTo("done first");
    Gate.Visitor next = gate.next();
    while (next.name().equals("parent")) { // of /both: it stood there before the rest came
      next = gate.next();
    }
    assertThat(next.name()).isEqualTo("third");
    next.release();
    assertThat(third.answer().body()).isEqualTo("done third");
  }

  @Test
  void aCallThatIsNotMadeForTheRequestGoesOn() throws Exception {
    Client leaving = client().get(gate.path("/adopt", "child"));
    Map<String, Gate.Visitor> running = gate.next(2);
    leaving.leave();
    assertThat(running.get("parent").says()).isEqualTo("cancelled");
    running.get("child").release();
    assertThat(running.get("child").says()).as("it was not cancelled").isEmpty();
  }

  @Test
  void aRequestBesideACancelledOneGoesOn() throws Exception {
    Client leaving = client().get(gate.path("/own-stream", "leaving"));
    Gate.Visitor cancelled = gate.next();
    Client staying = client().get(gate.path("/own-stream", "staying"));
    Gate.Visitor running = gate.next();
    leaving.leave();
    assertThat(cancelled.says()).isEqualTo("cancelled");
    running.release();
    assertThat(staying.readUntil("\r\n0\r\n\r\n")).contains("after");
  }

  @Test
  void aRequestThatWantsToGoOnWithoutItsClientDoes() throws Exception {
    double answered = answered("200");
    Client leaving = client().get(gate.path("/both", "child"), "x-request-disconnect-disabled: ?1");
    Map<String, Gate.Visitor> running = gate.next(2);
    leaving.leave();
    server.await("its connection is gone", () -> server.sum("berth_http_connections") == 0);
    running.get("child").release();
    running.get("parent").release();
    assertThat(running.get("child").says()).as("it was not cancelled").isEmpty();
    assertThat(running.get("parent").says()).as("it was not cancelled").isEmpty();
    server.await("it is counted as it ended", () -> answered("200") == answered + 1);
  }

  // --- timeouts ---

  @Test
  void aTimeoutCancelsTheRequestAndTheCallsMadeForIt() throws Exception {
    Client client =
        client()
            .get(gate.path("/both", "child"), "x-request-timeout-seconds: 0.5", "x-request-id: r1");
    Map<String, Gate.Visitor> running = gate.next(2);
    assertThat(running.get("parent").says()).isEqualTo("cancelled");
    assertThat(running.get("child").says()).isEqualTo("cancelled");
    Client.Answer answer = client.answer();
    assertThat(answer.status()).isEqualTo(408);
    assertThat(answer.body()).isEqualTo("Request r1 timed out after 0.5s.");
    assertThat(answer.header("x-request-id")).isEqualTo("r1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/child", "/blocking"})
  void aTimeoutWhileACallWaitsForItsChildEndsTheWaitAndItNeverRuns(String path) throws Exception {
    Client first = client().get(gate.path("/child", "first"));
    Gate.Visitor running = gate.next();
    Client hurried = client().get(gate.path(path, "hurried"), "x-request-timeout-seconds: 0.3");
    assertThat(hurried.answer().status()).isEqualTo(408);
    awaitQueued(0);
    Client third = client().get(gate.path("/child", "third"));
    awaitQueued(1);
    running.release();
    assertThat(first.answer().body()).isEqualTo("done first");
    nextDone("third", third);
  }

  @Test
  void aTimeoutOfTheCallToAChildIsTheParentsStatus() throws Exception {
    Client client = client().get(gate.path("/hurried", "child"), "x-request-id: r2");
    Gate.Visitor child = gate.next();
    Client.Answer answer = client.answer();
    assertThat(answer.status()).isEqualTo(408);
    assertThat(answer.body()).isEqualTo("Request r2 timed out.");
    assertThat(child.says()).isEqualTo("cancelled");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/stream", "/own-stream"})
  void aTimeoutInMidStreamCutsTheResponseAndCancelsItsProducer(String path) throws Exception {
    Client client = client().get(gate.path(path, "producer"), "x-request-timeout-seconds: 1.5");
    assertThat(client.readUntil(";\r\n")).startsWith("HTTP/1.1 200").contains("before at");
    assertThat(gate.next().says()).isEqualTo("cancelled");
    assertThat(client.readToEnd()).as("no last chunk").isEmpty();
  }

  // --- streams ---

  @ParameterizedTest
  @CsvSource({"/own-stream, 1", "/stream, 2"})
  void eachPieceArrivesBeforeTheNextIsMade(String path, int replicas) throws Exception {
    Client one = client().get(gate.path(path, "one"));
    Client two = client().get(gate.path(path, "two"));
    String first = one.readUntil(";\r\n");
    String second = two.readUntil(";\r\n");
    assertThat(first.substring(first.indexOf("before at")))
        .as("of %s replicas", replicas)
        .matches(
            begun -> begun.equals(second.substring(second.indexOf("before"))) == (replicas == 1));

    gate.next(2).values().forEach(Gate.Visitor::release);

    assertThat(one.readUntil("\r\n0\r\n\r\n")).contains("after");
    assertThat(two.readUntil("\r\n0\r\n\r\n")).contains("after");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/stream", "/own-stream"})
  void aClientThatLeavesInMidStreamCancelsItsProducer(String path) throws Exception {
    Client leaving = client().get(gate.path(path, "producer"));
    leaving.readUntil(";\r\n");
    Gate.Visitor producing = gate.next();
    leaving.leave();
    assertThat(producing.says()).isEqualTo("cancelled");
  }

  @Test
  void aStreamThatFailsMidwayIsCut() throws Exception {
    Client client = client().get("/broken");
    assertThat(client.readUntil("first result\r\n")).startsWith("HTTP/1.1 200");
    assertThat(client.readToEnd()).as("no last chunk").isEmpty();
  }

  private static double answered(String status) {
    return server
        .admin("/metrics")
        .lines()
        .filter(line -> line.startsWith("serve_num_http_requests_total{"))
        .filter(line -> line.contains("status_code=\"" + status + "\""))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }
}

package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Slots held for a client by tokens, of the packaged server, as a program in Python does it. */
class HttpReservationIT {
  private static final String BEARER = "a-secret-of-the-test";
  private static final Pattern TOKEN = Pattern.compile("\"token\":\"([^\"]+)\"");
  @AutoClose private static Server server;

  @BeforeAll
  static void start() throws IOException {
    server =
        Server.start(
            Path.of("conf/quickstart.yaml"),
            "--host=127.0.0.1",
            "--port=0",
            "--admin-port=0",
            "--set=logging_config={enable_access_log: true}",
            "--set=berth.reservations={data_port: true, bearer_tokens: [{name: ci, token: "
                + BEARER
                + "}]}");
  }

  private static void runsThePythonProgram(String... more) throws Exception {
    List<String> command =
        new java.util.ArrayList<>(
            List.of(
                "python3",
                "src/it/reservations.py",
                "http://127.0.0.1:" + server.adminPort(),
                "http://127.0.0.1:" + server.port(),
                "echo",
                "echo",
                "/echo"));
    command.addAll(List.of(more));
    Process program;
    try {
      program = new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException noPython) {
      assumeTrue(false, "python3 is not installed: " + noPython.getMessage());
      return;
    }
    String said = new String(program.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(program.waitFor(30, TimeUnit.SECONDS)).isTrue();
    assertThat(program.exitValue()).as(said).isZero();
    assertThat(said).endsWith("ok: the ledger at the end\n");
    GatedServer.assertAtRest(server);
  }

  @Test
  void aProgramInPythonReservesOnTheAdminPort() throws Exception {
    runsThePythonProgram();
  }

  @Test
  void aProgramInPythonReservesOnTheDataPort() throws Exception {
    runsThePythonProgram(BEARER);
  }

  private static HttpResponse<String> send(String method, String url, String... headers)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url)).method(method, HttpRequest.BodyPublishers.noBody());
    if (headers.length > 0) {
      request.headers(headers);
    }
    return server.http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private static String onTheDataPort(String rest) {
    return "http://127.0.0.1:"
        + server.port()
        + "/-/api/v1/applications/echo/deployments/echo/reservations"
        + rest;
  }

  @Test
  void theDataPortReservesForNobodyUnknown() throws Exception {
    for (String[] headers :
        new String[][] {
          {}, {"Authorization", "Bearer " + BEARER + "x"}, {"Authorization", "Basic " + BEARER}
        }) {
      HttpResponse<String> refused = send("POST", onTheDataPort(""), headers);
      assertThat(refused.statusCode()).isEqualTo(401);
      assertThat(refused.headers().firstValue("WWW-Authenticate")).hasValue("Bearer");
      assertThat(refused.body()).contains("\"unauthorized\"").doesNotContain(BEARER);
    }
  }

  @Test
  void aTokenIsInNoLogNoMetricAndNoLedger() throws Exception {
    String[] ci = {"Authorization", "Bearer " + BEARER};
    HttpResponse<String> made = send("POST", onTheDataPort(""), ci);
    Matcher found = TOKEN.matcher(made.body());
    assertThat(found.find()).as(made.body()).isTrue();
    String token = found.group(1);

    assertThat(send("PATCH", onTheDataPort("/" + token), ci).statusCode()).isEqualTo(200);
    HttpResponse<String> used =
        send(
            "GET",
            "http://127.0.0.1:" + server.port() + "/echo",
            "X-Berth-Reservation",
            token,
            "X-Berth-Explain",
            "1",
            "X-Request-ID",
            "looked-for");
    assertThat(used.statusCode()).isEqualTo(200);
    for (String method : List.of("PATCH", "DELETE")) {
      HttpResponse<String> late = send(method, onTheDataPort("/" + token), ci);
      assertThat(late.statusCode()).as(method).isEqualTo(409);
      assertThat(late.headers().firstValue("x-should-retry")).hasValue("false");
    }
    // And asked for where it is not: on the data port without the prefix.
    send("DELETE", onTheDataPort("/" + token).replace("/-/", "/"), ci);
    server.await(
        "its line in the access log", () -> server.prints(line -> line.contains("looked-for")));

    assertThat(server.prints(line -> line.contains(token) || line.contains(BEARER))).isFalse();
    String admin = "http://127.0.0.1:" + server.adminPort();
    for (String page :
        List.of("/metrics", "/api/v1/ledger", "/api/v1/requests/looked-for/explain")) {
      assertThat(send("GET", admin + page).body()).doesNotContain(token).doesNotContain(BEARER);
    }
  }
}

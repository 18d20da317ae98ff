package dev.berth.ingress;

import static io.vertx.core.Future.succeededFuture;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.AdminVerticle;
import dev.berth.admin.EndpointRoutes;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.config.AdminOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.ingress.FakeUpstream.Call;
import dev.berth.metrics.Meters;
import dev.berth.protocol.port.Endpoint;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Requests byte by byte, each alone and with a second one in the same bytes: what RFC 9112 has
 * refused is refused, and what came after it is not served. The table is {@code requests.txt}.
 */
@Timeout(60)
class RequestsAsSentIT {
  private static final Pattern STATUS = Pattern.compile("HTTP/1\\.[01] (\\d{3})");
  private static final Pattern BYTE = Pattern.compile("\\\\(?:x(..)|([rnt]))");
  private static final Set<Integer> BY_DECODER = Set.of(400, 405, 501, 505);

  /** Rows whose path is not its own normal form. */
  private static final Set<String> NOT_NORMAL =
      Set.of("two slashes first", "dot segments stay", "encoded dot segments stay");

  private static final Map<Integer, String> CODES =
      Map.of(405, "method_not_allowed", 501, "not_implemented", 505, "version_not_supported");

  /** A request, and what becomes of it; the last one of its connection, or not. */
  private record Row(String name, int status, boolean last, String bytes, String says) {
    static Row of(String line) {
      String[] parts = line.split(" \\| ", -1);
      String status = parts[0].replace("!", "");
      return new Row(
          parts[1],
          Integer.parseInt(status),
          status.length() < parts[0].length(),
          BYTE.matcher(parts[2].replace("⏎", "\r\n")).replaceAll(Row::unescaped),
          parts.length > 3 ? parts[3] : "");
    }

    private static String unescaped(MatchResult found) {
      int at = found.group(1) != null ? -1 : "rnt".indexOf(found.group(2));
      char one = at < 0 ? (char) Integer.parseInt(found.group(1), 16) : "\r\n\t".charAt(at);
      return String.valueOf(one);
    }
  }

  private static final String LAST = "GET / HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n";

  /** Comes before a request, and leaves nothing to it. */
  private static final String ABSOLUTE = "GET http://before/ HTTP/1.1\r\nHost: a\r\n\r\n";

  /** What came back to a request alone, before another, twice, and behind one in absolute-form. */
  private record Answers(
      String alone, String both, boolean secondServed, String twice, String behind) {}

  private final ExecutorService clients = Executors.newFixedThreadPool(48); // most of them wait
  private final Set<String> served = ConcurrentHashMap.newKeySet(); // paths
  private final IngressRig rig = newRig(false);

  private static IngressRig newRig(boolean upgrades) {
    try {
      return new IngressRig(IngressRig.LOCAL.with(InstanceOptions.H2C_UPGRADE, upgrades))
          .route("/");
    } catch (Exception broken) {
      throw new IllegalStateException(broken);
    }
  }

  @BeforeEach
  void echo() {
    rig.upstream.behave(this::echo);
  }

  @AfterEach
  void stop() throws Exception {
    clients.shutdown();
    rig.close();
  }

  private void echo(Call call) {
    Request asked = call.request();
    served.add(asked.path());
    String host = asked.headers().get("host");
    call.respond(
        asked.method()
            + " "
            + asked.path()
            + (asked.query() == null ? "" : "?" + asked.query())
            + " host="
            + (host == null ? "none" : host)
            + " body="
            + asked.bytes()
            + " x="
            + asked.headers().get("x"));
  }

  static List<Row> rows() throws IOException {
    try (InputStream in = RequestsAsSentIT.class.getResourceAsStream("requests.txt")) {
      String all = new String(Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
      return all.lines().filter(line -> line.matches("\\d.*")).map(Row::of).toList();
    }
  }

  private Answers ask(int port, Row row, UnaryOperator<String> to, int number) throws IOException {
    String bytes = to.apply(row.bytes);
    String second = "/second-" + number;
    String alone;
    try (RawClient raw = new RawClient(port).send(bytes)) {
      alone = row.last ? raw.readToEnd() : raw.readHead();
    }
    try (RawClient raw = new RawClient(port)) {
      raw.send(bytes + "GET " + second + " HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n");
      String both = raw.readToEnd();
      return new Answers(
          alone,
          both,
          served.contains(second) || both.contains(second),
          all(port, row, bytes + bytes),
          all(port, row, to.apply(ABSOLUTE) + bytes));
    }
  }

  /** Answers to two requests of one connection. */
  private static String all(int port, Row row, String bytes) throws IOException {
    try (RawClient raw = new RawClient(port)) {
      raw.send(row.last ? bytes : bytes + LAST);
      return raw.readToEnd();
    }
  }

  private static List<Integer> statuses(String answers) {
    return STATUS.matcher(answers).results().map(each -> Integer.parseInt(each.group(1))).toList();
  }

  private interface Verdict {
    void on(Row row, Answers answers);
  }

  /** All rows at once, since some connections linger; then a test for each. */
  private Stream<DynamicTest> tests(int port, UnaryOperator<String> to, Verdict verdict)
      throws IOException {
    List<Row> rows = rows();
    assertThat(rows).hasSizeGreaterThanOrEqualTo(135);
    List<Future<Answers>> asked =
        IntStream.range(0, rows.size())
            .mapToObj(n -> clients.submit(() -> ask(port, rows.get(n), to, n)))
            .toList();
    return IntStream.range(0, rows.size())
        .mapToObj(
            n ->
                DynamicTest.dynamicTest(
                    rows.get(n).name,
                    () -> verdict.on(rows.get(n), asked.get(n).get(30, TimeUnit.SECONDS))));
  }

  @TestFactory
  Stream<DynamicTest> requestsOfClientsAreAnsweredAsTheRfcSays() throws IOException {
    return tests(
        rig.port(),
        row -> row,
        (row, answers) -> {
          assertThat(statuses(answers.alone)).as(answers.alone).containsExactly(row.status);
          assertThat(answers.both.toLowerCase()).contains(row.says.toLowerCase());
          assertThat(answers.secondServed).as(answers.both).isEqualTo(!row.last);
          assertThat(statuses(answers.both)).as(answers.both).hasSize(row.last ? 1 : 2);
          assertThat(statuses(answers.twice))
              .as(answers.twice)
              .isEqualTo(row.last ? List.of(row.status) : List.of(row.status, row.status, 200));
          assertThat(answers.twice.toLowerCase().split(Pattern.quote(row.says.toLowerCase()), -1))
              .as(answers.twice)
              .hasSizeGreaterThanOrEqualTo(row.says.isEmpty() || row.last ? 1 : 3);
          assertThat(statuses(answers.behind))
              .as(answers.behind)
              .isEqualTo(row.last ? List.of(200, row.status) : List.of(200, row.status, 200));
          assertThat(answers.behind).contains("GET / host=before ");
          assertThat(answers.behind.toLowerCase()).contains(row.says.toLowerCase());
          if (row.last && row.status >= 400) {
            assertThat(answers.alone)
                .startsWith(row.bytes.contains(" HTTP/1.0") ? "HTTP/1.0" : "HTTP/1.1");
            assertThat(answers.alone.toLowerCase()).contains("\r\nconnection: close\r\n");
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> requestsOfOperatorsTooWhetherTheyAreAllowedOrNot() throws Exception {
    Meters meters = new Meters("node-1", "127.0.0.1", "", false);
    Endpoint.EndpointResponse fine =
        new Endpoint.EndpointResponse(200, Map.of(), Buffer.buffer("{}"));
    AdminVerticle admin =
        new AdminVerticle(
            ServeConfig.DEFAULTS.with(AdminOptions.PORT, 0),
            meters,
            List.of(new EndpointRoutes("/", asked -> () -> succeededFuture(fine))));
    IngressRig.await(rig.vertx.deployVerticle(admin));
    return tests(
        admin.port(),
        row -> row.replace("Host: a\r\n", "Host: localhost\r\n"),
        (row, answers) -> {
          int first = statuses(answers.alone).get(0);
          if (row.last && row.status >= 400) {
            assertThat(first).as(answers.alone).isEqualTo(row.status);
            assertThat(statuses(answers.both)).as(answers.both).containsExactly(row.status);
            assertThat(answers.alone).contains(CODES.getOrDefault(row.status, ""));
            assertThat(statuses(answers.twice)).as(answers.twice).containsExactly(row.status);
            assertThat(statuses(answers.behind)).as(answers.behind).endsWith(row.status);
          } else if (NOT_NORMAL.contains(row.name)) { // of the admin port alone
            assertThat(first).as(answers.alone).isEqualTo(400);
            assertThat(answers.both).contains("path_not_normal");
          } else { // 403 for another host, and 404
            assertThat(first).as(answers.alone).isNotIn(BY_DECODER);
          }
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "POST", "PRI"})
  void noCheckDependsOnWhereAReadEnds(String method) throws Exception {
    RawClient raw = rig.raw();
    for (char c : (method + " / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r").toCharArray()) {
      raw.send(String.valueOf(c));
    }
    assertThat(statuses(raw.send("\n").readToEnd())).containsExactly(400);
  }

  @Test
  void aHandlerCannotSendAFieldWithoutAName() throws Exception {
    rig.upstream.behave(call -> call.respond(200, Headers.empty().with("", "x"), Buffer.buffer()));
    RawClient raw = rig.raw().get("/");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 500 ").doesNotContain("\r\n:");
  }

  @Test
  void upgradeToHttp2IsAsked() throws Exception {
    String upgrade =
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            + "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n";
    try (RawClient raw = new RawClient(rig.port()).send(upgrade)) {
      assertThat(raw.readHead()).startsWith("HTTP/1.1 200 ");
    }
    try (IngressRig open = newRig(true);
        RawClient raw = new RawClient(open.port()).send(upgrade)) {
      assertThat(raw.readHead()).startsWith("HTTP/1.1 101 ");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'Host: a\r\nTransfer-Encoding: gzip, chunked', not_implemented",
    "X: a, bad_request",
  })
  void aRefusalSaysWhyToProgramsToo(String fields, String code) throws Exception {
    RawClient raw = rig.raw();
    raw.send("GET / HTTP/1.1\r\nAccept: application/json\r\n" + fields + "\r\n\r\n");
    assertThat(raw.readToEnd()).contains("{\"code\":\"" + code + "\",");
  }
}

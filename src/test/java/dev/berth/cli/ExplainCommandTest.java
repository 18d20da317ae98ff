package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.AdminClient;
import dev.berth.admin.ExplainRing;
import dev.berth.admin.ExplainRoutes;
import dev.berth.config.ExplainOptions;
import dev.berth.config.ServeConfig;
import dev.berth.fakes.Explained;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.json.JsonObject;
import io.vertx.junit5.VertxExtension;
import java.io.StringWriter;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
@ExtendWith(VertxExtension.class)
class ExplainCommandTest {
  private static final ExplainRing RING = new ExplainRing(8);

  @AutoClose
  private static final AdminClient ADMIN =
      new AdminClient(
          new ExplainRoutes(RING, ServeConfig.DEFAULTS.with(ExplainOptions.RING_SIZE, 8)));

  private final String address = "http://127.0.0.1:" + ADMIN.port;

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @BeforeAll
  static void explain() {
    RING.explained(Explained.byHttp("a/b %2F"));
  }

  private int execute(String... args) {
    return FakeInstance.execute(out, err, args);
  }

  @Test
  void aRequestIsShownAsATimeline() {
    assertThat(execute("explain", "a/b %2F", "--address", address)).isZero();
    assertThat(err).hasToString("");
    assertThat(out.toString())
        .startsWith("request a/b %2F  GET /shop/cart\n")
        .contains("\n  handler       980.0   64.8 ####")
        .doesNotContain("\u001b");
  }

  @Test
  void asJsonItIsWhatTheServerSaysAndTheAddressNeedsNoSchemeAndMayEndInASlash() {
    String bare = address.substring("http://".length()) + "/";
    assertThat(execute("explain", "a/b %2F", "--json", "--address", bare)).isZero();
    assertThat(new JsonObject(out.toString()).getJsonArray("explanations")).hasSize(1);
  }

  @Test
  void anUnknownRequestIsExitCodeOneAndSaysHowToAsk() {
    assertThat(execute("explain", "unknown", "--address", address)).isEqualTo(1);
    assertThat(out).hasToString("");
    assertThat(err.toString()).contains("No explanation is stored").contains("X-Berth-Explain: 1");
  }

  @Test
  void whereNobodyListensIsExitCodeThree(Vertx vertx) throws Exception {
    HttpServer gone = vertx.createHttpServer().requestHandler(r -> {}).listen(0).await();
    int port = gone.actualPort();
    gone.close().await();
    assertThat(execute("explain", "x", "--address", "http://127.0.0.1:" + port)).isEqualTo(3);
    assertThat(err.toString()).startsWith("berth: http://127.0.0.1:" + port + ": ");
  }

  @Test
  void anotherServerIsExitCodeThreeAndCannotWriteToTheTerminal(Vertx vertx) throws Exception {
    HttpServer other =
        vertx
            .createHttpServer()
            .requestHandler(
                request ->
                    request
                        .response()
                        .setStatusCode(request.path().contains("/ok/") ? 200 : 404)
                        .end("{\"message\":\"\\u001b[2J\u009b\"}"))
            .listen(0)
            .await();
    String there = "http://127.0.0.1:" + other.actualPort();
    assertThat(execute("explain", "x", "--address", there)).isEqualTo(3);
    assertThat(err.toString()).contains("status 404, ?[2J? (expected: an admin server of Berth)");
    assertThat(execute("explain", "ok", "--json", "--address", there)).isZero();
    assertThat(out.toString()).doesNotContain("\u001b", "\u009b");
    other.close().await();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "ftp://x", "http://", "http://a b", "http://[", "127.0.0.1:x"})
  void anAddressThatIsNoneIsWrongUsage(String wrong) {
    assertThat(execute("explain", "x", "--address", wrong)).isEqualTo(2);
    assertThat(err.toString())
        .contains("--address: ")
        .contains("(expected: as http://127.0.0.1:8265, or https)");
  }

  @Test
  void noIdIsWrongUsage() {
    assertThat(execute("explain")).isEqualTo(2);
    assertThat(execute("explain", "", "--address", address)).isEqualTo(2);
  }

  @Test
  void anIdOfAnyLengthIsAnswered() {
    assertThat(execute("explain", "x".repeat(1_000), "--address", address)).isEqualTo(1);
    assertThat(execute("explain", "x".repeat(10_000_000), "--address", address)).isEqualTo(2);
    assertThat(err.toString())
        .hasSizeLessThan(3_000)
        .contains("ID: 10000000 characters (expected: 1 to 1000, a request's id)");
  }
}

package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.testkit.TestBerth;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class ExamplesTest {
  @AutoClose private TestBerth berth;
  private static final Buffer NONE = Buffer.buffer(0);

  @Test
  void wordsAsksTwoMethodsAtOnceAndAnswersWithBoth() {
    berth = TestBerth.start(Examples.words());
    Request hello = Request.of("GET", "/", "text=hello%20you", Request.get("/").headers(), NONE);
    assertThat(berth.text(berth.call(hello))).isEqualTo("HELLO YOU! has 8 letters\n");
    assertThat(berth.call(Request.get("/")).status()).isEqualTo(400);
    berth.assertAtRest();
  }

  @Test
  void aMethodThatLettersDoesNotHaveIsNamedWithThoseItHas() {
    berth = TestBerth.start(Examples.words());
    Throwable failure =
        berth.awaitFailure(berth.handle("letters").method("lower").call(Request.get("/")));
    assertThat(failure)
        .isInstanceOf(BerthException.NoSuchMethod.class)
        .hasMessage("method of default#letters: lower (expected: one of [count, upper])");
    berth.assertAtRest();
  }

  @Test
  void aSuffixThatIsTooLongDoesNotStart() {
    assertThatThrownBy(
            () ->
                TestBerth.of(Examples.words())
                    .set("letters", "user_config", Map.of("suffix", "much too long"))
                    .start())
        .hasStackTraceContaining("suffix: much too long (expected: at most 10 letters)");
  }

  @Test
  void checksumReadsABodyAsItComes() {
    berth = TestBerth.start(Examples.checksum());
    Request check = Request.post("/", Buffer.buffer("123456789")); // its CRC-32 is well known
    assertThat(berth.text(berth.call(check))).isEqualTo("9 bytes, crc32 cbf43926\n");
    berth.assertAtRest();
  }

  @Test
  void sleepWaitsAsLongAsItIsTold() {
    berth = TestBerth.start(Examples.sleep());
    Request sleep = Request.of("GET", "/", "ms=500", Request.get("/").headers(), NONE);
    Future<Response> answer = berth.handle("sleep").call(sleep);
    berth.advance(Duration.ofMillis(499));
    assertThat(answer.isComplete()).isFalse();
    berth.advance(Duration.ofMillis(1));
    assertThat(berth.text(berth.await(answer))).isEqualTo("slept 500 ms\n");
    Request wrong = Request.of("GET", "/", "ms=-1", Request.get("/").headers(), NONE);
    assertThat(berth.call(wrong).status()).isEqualTo(400);
    berth.assertAtRest();
  }

  @Test
  void chooseNamesTheReplicaThatAnswers() {
    berth = TestBerth.start(Examples.choose());
    Response response = berth.call(Request.get("/"));
    assertThat(berth.text(response).strip()).isEqualTo(response.headers().get("x-chosen"));
    berth.assertAtRest();
  }

  @Test
  void rollCallTellsWhoIsBusyAndWhoIsHere() {
    berth = TestBerth.start(Examples.rollCall());
    assertThat(berth.text(berth.call(Request.get("/"))).lines())
        .hasSize(3)
        .doesNotHaveDuplicates()
        .allMatch(line -> line.matches("default#named#\\d: here"));
    List<Future<ReplicaSelection>> held = new ArrayList<>();
    for (int i = 0; i < 4; i++) { // three replicas of two slots: one of them is full
      held.add(berth.handle("named").choose());
    }
    Future<Response> busy = berth.handle("roll-call").call(Request.get("/"));
    berth.run();
    berth.advance(Duration.ofMillis(1_100));
    assertThat(berth.text(berth.await(busy)).lines().map(line -> line.replaceAll(".*: ", "")))
        .containsExactlyInAnyOrder("TIMEOUT", "here", "here");
    held.forEach(selection -> selection.result().close());
    berth.assertAtRest();
  }
}

package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.testkit.TestBerth;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The quickstart's applications, whole, without a server: an example of the test kit. */
class QuickstartUnderTestTest {
  @AutoClose private TestBerth berth;

  @Test
  void echoAnswersWithTheBodyItWasSent() {
    berth = TestBerth.of(Quickstart.echo()).eventLoops(2).start();
    Response answer = berth.call(Request.post("/", Buffer.buffer("hello")));
    assertThat(berth.text(answer)).isEqualTo("hello");
  }

  @Test
  void streamSendsItsEventsAtTheirPaceOfTheClock() {
    berth = TestBerth.start(Quickstart.stream());
    Request request =
        Request.of(
            "GET", "/", "n=3&interval_ms=1000", dev.berth.api.Headers.empty(), Buffer.buffer());
    Future<Buffer> body =
        berth.handle("stream").call(request).compose(answer -> answer.bytes(1 << 20));
    berth.advance(Duration.ofMillis(1_999));
    assertThat(body.isComplete()).isFalse();
    berth.advance(Duration.ofSeconds(2));
    assertThat(berth.await(body).toString()).contains("\"event\":2");
  }

  @Test
  void classifyReadsADigitWithItsModel() throws Exception {
    berth = TestBerth.start(Quickstart.classify());
    Buffer png = Buffer.buffer(HeldOutImages.read("3-1.png"));
    Response answer = berth.call(Answers.post("image/png", png));
    assertThat(berth.bytes(answer).toJsonObject().getInteger("digit")).isEqualTo(3);
    assertThat(berth.ledger("digits").completed()).isEqualTo(1);
  }
}

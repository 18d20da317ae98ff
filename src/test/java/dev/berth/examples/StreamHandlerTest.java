package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import dev.berth.fakes.FakeParent;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StreamHandlerTest {
  private final FakeParent context = new FakeParent();
  private final SlowReceiver receiver = new SlowReceiver();

  @Test
  void theAnswerIsAStreamOfEvents() {
    Response response = ask(null);
    assertThat(response.status()).isEqualTo(200);
    assertThat(response.headers().get("content-type")).isEqualTo("text/event-stream");
    assertThat(response.headers().get("cache-control")).isEqualTo("no-cache");
  }

  @Test
  void anEventWaitsForTheReceiverAndThenForTheInterval() {
    Future<Void> done = start("n=3&interval_ms=20");
    assertThat(receiver.pieces).hasSize(1);
    assertThat(context.delays).isEmpty();
    receiver.take();
    assertThat(context.delays).containsExactly(Duration.ofMillis(20));
    assertThat(receiver.pieces).hasSize(1);
    context.endDelay();
    assertThat(receiver.pieces).hasSize(2);
    receiver.take();
    context.endDelay();
    assertThat(receiver.pieces).hasSize(3);
    assertThat(done.isComplete()).isFalse();
    receiver.take();
    assertThat(done.succeeded()).isTrue();
    assertThat(context.delays).as("none after the last").hasSize(2);
  }

  @Test
  void eachEventIsAnIdAndALineOfJson() {
    receiver.takesAtOnce = true;
    start("n=2&interval_ms=0");
    assertThat(receiver.pieces)
        .containsExactly(
            "id: 0\ndata: {\"event\":0,\"of\":2}\n\n", "id: 1\ndata: {\"event\":1,\"of\":2}\n\n");
    String data = receiver.pieces.get(1).lines().toList().get(1).substring("data: ".length());
    assertThat(new JsonObject(data).getInteger("event")).isOne();
  }

  @Test
  void withoutParametersThereAreTenEventsATenthOfASecondApart() {
    receiver.takesAtOnce = true;
    Future<Void> done = start(null);
    while (context.endDelay()) {
      assertThat(receiver.pieces.size()).isLessThanOrEqualTo(10);
    }
    assertThat(done.succeeded()).isTrue();
    assertThat(receiver.pieces).hasSize(10);
    assertThat(context.delays).hasSize(9).containsOnly(Duration.ofMillis(100));
  }

  @Test
  void aThousandEventsWithoutIntervalNeedNoTimer() {
    receiver.takesAtOnce = true;
    assertThat(start("n=1000&interval_ms=0").succeeded()).isTrue();
    assertThat(receiver.pieces).hasSize(1_000);
    assertThat(context.delays).isEmpty();
  }

  @Test
  void aReceiverThatHasGoneEndsTheStream() {
    Future<Void> done = start("n=5");
    BerthException gone = new BerthException.Cancelled("the receiver has gone");
    receiver.fail(gone);
    assertThat(done.cause()).isSameAs(gone);
    assertThat(receiver.pieces).hasSize(1);
    assertThat(context.delays).isEmpty();
  }

  @Test
  void aCancelDuringTheIntervalEndsTheStream() {
    Future<Void> done = start("n=5");
    receiver.take();
    context.cancel();
    assertThat(done.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(receiver.pieces).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({
    "n=0, n, 0, 1 to 1000",
    "n=1001, n, 1001, 1 to 1000",
    "n=-1, n, -1, 1 to 1000",
    "n=ten, n, ten, 1 to 1000",
    "n=, n, '', 1 to 1000",
    "n=99999999999, n, 99999999999, 1 to 1000",
    "interval_ms=-1, interval_ms, -1, 0 to 10000",
    "interval_ms=10001, interval_ms, 10001, 0 to 10000",
    "n=3&interval_ms=1.5, interval_ms, 1.5, 0 to 10000"
  })
  void aParameterOutOfRangeIsNamed(String query, String name, String value, String range) {
    Answers.assertRefused(ask(query), 400, name, value, "a whole number from " + range);
  }

  @Test
  void aLongValueIsRepeatedOnlyInPart() {
    String told = "x".repeat(BadInput.VALUE_CHARS_MAX) + "…";
    Answers.assertRefused(
        ask("n=" + "x".repeat(5_000)), 400, "n", told, "a whole number from 1 to 1000");
  }

  @ParameterizedTest
  @CsvSource({"n=1&interval_ms=10000", "n=1000&interval_ms=0"})
  void theLimitsAreWithinTheRange(String query) {
    assertThat(ask(query).status()).isEqualTo(200);
  }

  @Test
  void anotherMethodIsToldWhichIsAllowed() {
    Request post = Request.of("POST", "/stream", null, Headers.empty(), Buffer.buffer());
    Response response = Answers.of(new StreamHandler().handle(post, context));
    Answers.assertRefused(response, 405, "method", "POST", "GET");
    assertThat(response.headers().get("allow")).isEqualTo("GET");
  }

  private Response ask(String query) {
    Request request = Request.of("GET", "/stream", query, Headers.empty(), Buffer.buffer());
    return Answers.of(new StreamHandler().handle(request, context));
  }

  private Future<Void> start(String query) {
    return ((Response.Body.Produced) ask(query).body()).producer().writeTo(receiver);
  }

  /** Takes a piece when the test says so, or every piece at once. */
  private static final class SlowReceiver implements ResponseWriter {
    final List<String> pieces = new ArrayList<>();
    boolean takesAtOnce;
    private final ArrayDeque<Promise<Void>> untaken = new ArrayDeque<>();

    void take() {
      untaken.remove().complete();
    }

    void fail(Throwable failure) {
      untaken.remove().fail(failure);
    }

    @Override
    public Future<Void> write(Buffer piece) {
      pieces.add(piece.toString());
      if (takesAtOnce) {
        return Future.succeededFuture();
      }
      Promise<Void> taken = Promise.promise();
      untaken.add(taken);
      return taken.future();
    }
  }
}

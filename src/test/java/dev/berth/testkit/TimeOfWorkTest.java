package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How long a request, a call, or a piece of work of several calls may take. */
class TimeOfWorkTest {
  @AutoClose private TestBerth berth;
  private static final Duration SECOND = Duration.ofSeconds(1);

  private final AtomicInteger reached = new AtomicInteger();

  /** A front, and a back whose answer takes a second. */
  private Application behind(AsyncHandler front) {
    return Application.of(
        Deployment.async("front", front),
        Deployment.async(
            "back",
            (request, context) -> {
              reached.incrementAndGet();
              return context.after(SECOND).map(none -> Response.text("back"));
            }));
  }

  private static Future<Response> back(RequestContext context) {
    return context.handle("back").call(Request.get("/"));
  }

  @Test
  void theCallsOfAPieceShareItsDeadline() {
    List<Duration> ended = new ArrayList<>();
    AsyncHandler front =
        (request, context) -> {
          RequestContext piece = context.withTimeout(Duration.ofMillis(2_500));
          return back(piece).compose(one -> back(piece)).compose(two -> back(piece));
        };
    berth = TestBerth.start(behind(front));
    Future<Response> response = berth.handle("front").call(Request.get("/"));
    response.onComplete(done -> ended.add(berth.elapsed()));
    berth.advance(Duration.ofSeconds(10));
    assertThat(response.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(ended).containsExactly(Duration.ofMillis(2_500));
    assertThat(reached).hasValue(3);
  }

  @Test
  void aPieceHasNoMoreTimeThanItsRequestAndOneWithinItNoMoreThanIt() {
    List<Optional<Duration>> left = new ArrayList<>();
    AsyncHandler front =
        (request, context) -> {
          left.add(context.withTimeout(Duration.ofDays(9)).remaining());
          RequestContext piece = context.withTimeout(SECOND);
          left.add(piece.withTimeout(Duration.ofSeconds(Long.MAX_VALUE)).remaining());
          left.add(piece.withTimeout(Duration.ofMillis(300)).remaining());
          return Future.succeededFuture(Response.text(""));
        };
    berth = TestBerth.start(behind(front));
    berth.await(berth.handle("front").withTimeout(SECOND.multipliedBy(5)).call(Request.get("/")));
    assertThat(left)
        .containsExactly(
            Optional.of(SECOND.multipliedBy(5)),
            Optional.of(SECOND),
            Optional.of(Duration.ofMillis(300)));
  }

  /** What was left of a budget is computed, and may well be nothing. */
  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MIN_VALUE})
  void aBudgetThatIsSpentIsATimeoutAndNoErrorOfTheCaller(long seconds) {
    Duration budget = Duration.ofSeconds(seconds);
    AsyncHandler byContext = (request, context) -> back(context.withTimeout(budget));
    AsyncHandler byHandle =
        (request, context) -> context.handle("back").withTimeout(budget).call(Request.get("/"));
    AsyncHandler byChoose =
        (request, context) ->
            context
                .withTimeout(budget)
                .handle("back")
                .withSelection(chosen -> chosen.dispatch(Request.get("/")));
    for (AsyncHandler front : List.of(byContext, byHandle, byChoose)) {
      try (TestBerth berth = TestBerth.start(behind(front))) {
        Future<Response> response = berth.handle("front").call(Request.get("/"));
        assertThat(berth.awaitFailure(response)).isInstanceOf(BerthException.Timeout.class);
        assertThat(berth.handlerFailures()).isEmpty();
      }
    }
    assertThat(reached).hasValue(0);
  }

  @Test
  void whatIsLeftOfAPieceIsNotWhatIsLeftOfItsRequest() {
    AsyncHandler front =
        (request, context) ->
            back(context.withTimeout(Duration.ofMillis(10)))
                .recover(late -> Future.succeededFuture(Response.text("without it")));
    berth = TestBerth.start(behind(front));
    Future<Response> response = berth.handle("front").call(Request.get("/"));
    berth.advance(Duration.ofMillis(10));
    assertThat(berth.text(berth.await(response))).isEqualTo("without it");
    berth.advance(SECOND);
  }

  @Test
  void aHandlersTimeIsThatOfTheKit() {
    List<Instant> seen = new ArrayList<>();
    AsyncHandler front =
        (request, context) -> {
          seen.add(context.now());
          return context
              .after(SECOND)
              .map(
                  none -> {
                    seen.add(context.withTimeout(SECOND).now());
                    return Response.text("");
                  });
        };
    berth = TestBerth.start(behind(front));
    Instant began = berth.now();
    berth.handle("front").call(Request.get("/"));
    berth.advance(SECOND);
    assertThat(seen).containsExactly(began, began.plus(SECOND));
  }

  @Test
  void aDeploymentsTimeHoldsForCallsThatSayNone() {
    AsyncHandler front = (request, context) -> back(context);
    berth = TestBerth.of(behind(front)).set("back", "berth.request_timeout_s", 0.25).start();
    Future<Response> call = berth.handle("front").call(Request.get("/"));
    Future<Response> own =
        berth.handle("back").withTimeout(Duration.ofSeconds(3)).call(Request.get("/"));
    Future<Response> chosen =
        berth.handle("back").withSelection(held -> held.dispatch(Request.get("/")));
    berth.advance(Duration.ofMillis(250));
    assertThat(call.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(chosen.cause()).isInstanceOf(BerthException.Timeout.class);
    berth.advance(SECOND);
    assertThat(own.succeeded()).isTrue();
  }
}

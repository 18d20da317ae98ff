package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The code of docs/testing.md, which stands there word for word. */
class TestingGuideTest {

  // The application that the guide tests.

  static final class Shop {
    private Shop() {}

    public static Application build() {
      return Application.of(
          Deployment.async("shop", Shop::shop),
          Deployment.async("prices", Shop::price).withNumReplicas(2));
    }

    /** Returns the price of the requested item, or 503 if the lookup runs out of time. */
    private static Future<Response> shop(Request request, RequestContext context) {
      return context
          .handle("prices")
          .withTimeout(Duration.ofSeconds(2))
          .call(request)
          .recover(
              failure ->
                  failure instanceof BerthException.Timeout
                      ? Future.succeededFuture(Response.json(503, "{}"))
                      : Future.failedFuture(failure));
    }

    /** Looks a price up, which takes 50 ms; the price of a fish takes longer. */
    private static Future<Response> price(Request request, RequestContext context) {
      return context
          .after(Duration.ofMillis(request.path().equals("/fish") ? 5_000 : 50))
          .map(none -> Response.text("7 EUR"));
    }
  }

  @Test
  void aPriceIsAnswered() {
    try (TestBerth berth = TestBerth.start(Shop.build())) {
      Future<Response> answer = berth.handle("shop").call(Request.get("/bread"));
      berth.advance(Duration.ofMillis(50));
      assertThat(berth.text(berth.await(answer))).isEqualTo("7 EUR");
    }
  }

  @Test
  void aSlowPriceBecomesA503() {
    try (TestBerth berth = TestBerth.start(Shop.build())) {
      Future<Response> answer = berth.handle("shop").call(Request.get("/fish"));
      berth.advance(Duration.ofSeconds(2).minusMillis(1));
      assertThat(answer.isComplete()).isFalse();
      berth.advance(Duration.ofMillis(1));
      assertThat(answer.result().status()).isEqualTo(503);
    }
  }

  @Test
  void aFullQueueTurnsRequestsAway() {
    try (TestBerth berth =
        TestBerth.of(Shop.build())
            .set("shop", "max_ongoing_requests", 1)
            .set("shop", "max_queued_requests", 1)
            .start()) {
      DeploymentHandle shop = berth.handle("shop");
      Future<Response> runs = shop.call(Request.get("/bread"));
      Future<Response> waits = shop.call(Request.get("/bread"));
      Throwable refusal = berth.awaitFailure(shop.call(Request.get("/bread")));
      assertThat(refusal).isInstanceOf(BerthException.BackPressure.class);
      assertThat(berth.ledger("shop").running()).isEqualTo(1);
      assertThat(berth.queued("shop")).isEqualTo(1);

      berth.advance(Duration.ofMillis(100));
      assertThat(runs.succeeded() && waits.succeeded()).isTrue();
      berth.assertAtRest();
    }
  }

  @Test
  void aReplicaIsChosenAndThenUsed() {
    try (TestBerth berth = TestBerth.start(Shop.build())) {
      ReplicaSelection selection = berth.await(berth.handle("prices").choose());
      assertThat(berth.ledger("prices").reserved()).isEqualTo(1);

      Future<Response> answer = selection.dispatch(Request.get("/bread"));
      berth.advance(Duration.ofMillis(50));
      assertThat(berth.text(berth.await(answer))).isEqualTo("7 EUR");
    }
  }

  @Test
  void aSelectionThatIsForgottenRunsOut() {
    try (TestBerth berth =
        TestBerth.of(Shop.build()).set("prices", "berth.reservation_ttl_s", 10).start()) {
      ReplicaSelection selection = berth.await(berth.handle("prices").choose());
      berth.advance(Duration.ofSeconds(10));
      assertThat(berth.ledger("prices").reserved()).isZero();
      assertThat(berth.awaitFailure(selection.dispatch(Request.get("/bread"))))
          .isInstanceOf(BerthException.ReservationExpired.class);
    }
  }

  @Test
  void aReplicaDiesWhileItWorks() {
    try (TestBerth berth = TestBerth.of(Shop.build()).set("prices", "num_replicas", 1).start()) {
      Future<Response> answer = berth.handle("prices").call(Request.get("/bread"));
      berth.run();
      berth.killReplica(berth.replicas("prices").get(0).id());
      assertThat(berth.awaitFailure(answer)).isInstanceOf(BerthException.OutcomeUnknown.class);
      assertThat(berth.awaitFailure(berth.handle("prices").call(Request.get("/bread"))))
          .isInstanceOf(BerthException.DeploymentUnavailable.class);
    }
  }

  @Test
  void anUploadArrivesPieceByPiece() {
    Application store = Application.of(Deployment.of("store", replica -> new CountsItsBody()));
    try (TestBerth berth = TestBerth.start(store)) {
      TestBody upload = new TestBody();
      Future<Response> answer = berth.handle("store").call(upload.post("/fish.png"));
      upload.write("a piece, ");
      berth.run();
      assertThat(upload.waiting()).isZero();
      upload.write("and another").end();
      assertThat(berth.text(berth.await(answer))).isEqualTo("20 bytes");
    }
  }

  /** Counts the bytes of its body as they come. */
  private static final class CountsItsBody implements AsyncHandler {
    @Override
    public boolean streamsRequests() {
      return true;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      Promise<Response> answer = Promise.promise();
      AtomicLong bytes = new AtomicLong();
      request.stream()
          .exceptionHandler(answer::fail)
          .endHandler(end -> answer.complete(Response.text(bytes + " bytes")))
          .handler(piece -> bytes.addAndGet(piece.length()))
          .resume();
      return answer.future();
    }
  }

  @Test
  void aBlockingHandlerIsWaitedFor() {
    CountDownLatch paid = new CountDownLatch(1);
    Application till =
        Application.of(
            Deployment.blocking(
                "till",
                (request, context) -> {
                  paid.await();
                  return Response.text("thank you");
                }));
    try (TestBerth berth = TestBerth.start(till)) {
      Future<Response> answer = berth.handle("till").call(Request.get("/"));
      berth.run(); // the handler waits on a thread of its own
      paid.countDown();
      assertThat(berth.text(berth.await(answer))).isEqualTo("thank you");
    }
  }

  @Test
  void aForgottenSelectionFailsTheTest() {
    TestBerth berth = TestBerth.start(Shop.build());
    berth.await(berth.handle("prices").choose());
    assertThatThrownBy(berth::close)
        .hasMessageContaining("1 slot is held by selections that were neither dispatched nor");
  }

  @Test
  void aHandlerUsesVertx() {
    Vertx vertx = Vertx.vertx();
    Application timer =
        Application.of(
            Deployment.async(
                "timer",
                (request, context) -> {
                  Promise<Response> answer = Promise.promise();
                  vertx.setTimer(1, fired -> answer.complete(Response.text("real time")));
                  return answer.future();
                }));
    try (TestBerth berth = TestBerth.start(timer)) {
      assertThat(berth.text(berth.call(Request.get("/")))).isEqualTo("real time");
    } finally {
      vertx.close();
    }
  }

  // --- the guide itself ---

  @Test
  void everyPieceOfCodeInTheGuideIsCompiledHere() throws Exception {
    List<String> source =
        lines(Path.of("src", "test", "java", "dev", "berth", "testkit", "TestingGuideTest.java"));
    List<List<String>> pieces = new ArrayList<>();
    List<String> piece = null;
    for (String line : Files.readAllLines(Path.of("docs", "testing.md"))) {
      if (line.equals("```java")) {
        piece = new ArrayList<>();
      } else if (line.equals("```") && piece != null) {
        pieces.add(piece);
        piece = null;
      } else if (piece != null && !line.isBlank()) {
        piece.add(line.strip());
      }
    }
    assertThat(pieces).hasSizeGreaterThan(5);
    assertThat(pieces)
        .allSatisfy(
            each ->
                assertThat(java.util.Collections.indexOfSubList(source, each))
                    .as("lines of the guide in this file: %s", each)
                    .isNotNegative());
  }

  private static List<String> lines(Path file) throws Exception {
    return Files.readAllLines(file).stream()
        .filter(line -> !line.isBlank())
        .map(String::strip)
        .toList();
  }
}

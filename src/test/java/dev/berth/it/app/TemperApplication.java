package dev.berth.it.app;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * An asynchronous handler that does what {@code do} says to its event loop: {@code block} it until
 * the test's gate lets it go, {@code throw} what it names, {@code hold} a slot of {@code held} for
 * {@code ms} and forget it, or answer after {@code ms}. It answers with the name of its event
 * loop's thread.
 */
public final class TemperApplication {
  private static final int BLOCK_LIMIT_SECONDS = 60;

  private TemperApplication() {}

  /** Builds one that only says on which event loop a request came in, when it is spread. */
  public static Application where() {
    return Application.of(
        Deployment.async("where", (request, context) -> Future.succeededFuture(here())));
  }

  private static Response here() {
    return Response.text(Thread.currentThread().getName());
  }

  /** Builds it. */
  public static Application build() {
    return Application.of(
        Deployment.of(
            "temper",
            replica -> {
              DeploymentHandle held = replica.handle("held");
              return (AsyncHandler) (request, context) -> act(held, request, context);
            }),
        Deployment.async(
            "held", (request, context) -> Future.succeededFuture(Response.text("held"))));
  }

  private static Future<Response> act(
      DeploymentHandle held, Request request, RequestContext context) {
    String what = String.valueOf(request.queryParameter("do"));
    String ms = request.queryParameter("ms");
    Duration time = Duration.ofMillis(ms == null ? 0 : Long.parseLong(ms));
    return switch (what) {
      case "block" -> {
        CountDownLatch released = new CountDownLatch(1);
        AtGate.stand(request, context, "blocks").onComplete(over -> released.countDown());
        block(released);
        yield Future.succeededFuture(here());
      }
      case "hold" -> held.withReservationTtl(time).choose().map(selection -> here());
      case "error" -> throw new Error("an error");
      case "linkage" -> throw new NoClassDefFoundError("gone.Missing");
      case "stack" -> Future.succeededFuture(Response.text("" + deeper(1)));
      case "later" ->
          context
              .after(Duration.ofMillis(1))
              .map(
                  none -> {
                    throw new NoClassDefFoundError("gone.Missing");
                  });
      default ->
          time.isZero() ? Future.succeededFuture(here()) : context.after(time).map(none -> here());
    };
  }

  /** What must never be done on an event loop. */
  private static void block(CountDownLatch released) {
    try {
      if (!released.await(BLOCK_LIMIT_SECONDS, TimeUnit.SECONDS)) {
        throw new IllegalStateException("gate: shut (expected: opened by the test)");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static int deeper(int depth) {
    return 1 + deeper(depth + 1);
  }
}

package dev.berth.node;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Deployment;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Builders that a configuration names. */
public final class TestApplications {
  private static final AsyncHandler THREAD =
      (request, context) -> Future.succeededFuture(Response.text(Thread.currentThread().getName()));

  /** Two deployments. */
  public static Application plain() {
    return Application.of(
        Deployment.of("front", replica -> THREAD),
        Deployment.of("back", replica -> THREAD).withNumReplicas(3).withMaxOngoingRequests(7));
  }

  /** One deployment, named by {@code args.name}. */
  public static Application named(Map<String, Object> args) {
    return Application.of(Deployment.of((String) args.get("name"), replica -> THREAD));
  }

  /** Answers with the name of its thread, on every loop. */
  public static Application spread() {
    return Application.of(Deployment.of("spread", replica -> THREAD).withSpreadOverLoops(true));
  }

  /** Fails every request. */
  public static Application broken() {
    return Application.of(
        Deployment.of(
            "broken",
            replica ->
                (AsyncHandler)
                    (request, context) ->
                        Future.failedFuture(
                            new BerthException.HandlerFailed("for the test", null))));
  }

  /** A replica that cannot start. */
  public static Application unstartable() {
    return Application.of(
        Deployment.of(
            "broken",
            replica -> {
              throw new IllegalStateException("no model");
            }));
  }

  public static String text() {
    return "text";
  }

  public static @Nullable Application nothing() {
    return null;
  }

  public static Application failing() {
    throw new IllegalStateException("two\nlines", new ArithmeticException("why"));
  }

  public static Application withNumber(int number) {
    return plain();
  }

  public Application ofInstance() {
    return plain();
  }

  /** Cannot be initialised. */
  public static final class Broken {
    private static final int VALUE = Integer.parseInt("no number");

    private Broken() {}

    public static Application build() {
      return named(Map.of("name", "n" + VALUE));
    }
  }
}

package dev.berth.it.app;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.ReplicaContext;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;

/** Deployments that call one another; the last part of the path says how. */
public final class ComposedApplication {
  private ComposedApplication() {}

  /** Builds it: {@code parent} before {@code child}, {@code blocking} and {@code stream}. */
  public static Application build() {
    return Application.of(
        Deployment.of("parent", Parent::new),
        Deployment.async(
            "child", (request, context) -> AtGate.answer(request, context, nameOf(request))),
        Deployment.blocking(
            "blocking",
            (request, context) ->
                context
                    .handle("child")
                    .call(request)
                    .toCompletionStage()
                    .toCompletableFuture()
                    .get()),
        Deployment.async(
            "stream", (request, context) -> AtGate.stream(request, context, nameOf(request))));
  }

  private static String nameOf(Request request) {
    String name = request.queryParameter("name");
    return name == null ? "unnamed" : name;
  }

  private static final class Parent implements AsyncHandler {
    private final DeploymentHandle child; // of no request

    Parent(ReplicaContext replica) {
      child = replica.handle("child");
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      String how = request.path().substring(request.path().lastIndexOf('/') + 1);
      return switch (how) {
        case "child" -> context.handle("child").call(request);
        case "blocking" -> context.handle("blocking").call(request);
        case "hurried" -> child.withTimeout(Duration.ofMillis(100)).call(request);
        case "both" -> { // the call is made and not awaited
          context.handle("child").call(request);
          yield AtGate.answer(request, context, "parent");
        }
        case "adopt" -> { // the call is made, and not on behalf of this request
          child.start(request);
          yield AtGate.answer(request, context, "parent");
        }
        case "stream" -> context.handle("stream").call(request);
        case "own-stream" -> AtGate.stream(request, context, nameOf(request));
        case "broken" ->
            Future.succeededFuture(
                Response.stream(
                    "text/plain",
                    writer ->
                        writer
                            .write("first result")
                            .compose(written -> context.after(Duration.ofMillis(10)))
                            .compose(
                                later ->
                                    Future.failedFuture(
                                        new IllegalStateException("raised in the stream")))));
        default -> Future.succeededFuture(Response.text("parent"));
      };
    }
  }
}

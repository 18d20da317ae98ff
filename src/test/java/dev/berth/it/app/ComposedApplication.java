package dev.berth.it.app;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BlockingHandler;
import dev.berth.api.CallOptions;
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
        Deployment.of(
            "child",
            replica ->
                (AsyncHandler)
                    (request, context) -> AtGate.answer(request, context, nameOf(request))),
        Deployment.of(
            "blocking",
            replica -> {
              DeploymentHandle child = replica.handle("child");
              return (BlockingHandler)
                  (request, context) ->
                      child
                          .within(context)
                          .call(request)
                          .toCompletionStage()
                          .toCompletableFuture()
                          .get();
            }),
        Deployment.of(
            "stream",
            replica ->
                (AsyncHandler)
                    (request, context) -> AtGate.stream(request, context, nameOf(request))));
  }

  private static String nameOf(Request request) {
    String name = request.queryParameter("name");
    return name == null ? "unnamed" : name;
  }

  private static final class Parent implements AsyncHandler {
    private final DeploymentHandle child;
    private final DeploymentHandle blocking;
    private final DeploymentHandle stream;

    Parent(ReplicaContext replica) {
      child = replica.handle("child");
      blocking = replica.handle("blocking");
      stream = replica.handle("stream");
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      String how = request.path().substring(request.path().lastIndexOf('/') + 1);
      return switch (how) {
        case "child" -> child.within(context).call(request);
        case "blocking" -> blocking.within(context).call(request);
        case "hurried" ->
            child.options(CallOptions.defaults().withTimeout(Duration.ofMillis(100))).call(request);
        case "both" -> { // the call is made and not awaited
          child.within(context).call(request);
          yield AtGate.answer(request, context, "parent");
        }
        case "adopt" -> { // the call is made, and not on behalf of this request
          child.start(request);
          yield AtGate.answer(request, context, "parent");
        }
        case "stream" -> stream.within(context).call(request);
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

package dev.berth.node;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BroadcastAnswer;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.ReplicaContext;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/** What a replica asks of another one, which may be on another node. */
public final class OverNodes {
  /** Of the JVM, as all nodes of a test are. */
  static final AtomicInteger HUNG = new AtomicInteger();

  static final AtomicInteger CANCELLED = new AtomicInteger();

  private OverNodes() {}

  /** {@code front} on each node; {@code back} does what the path says. */
  public static Application build() {
    return Application.of(
        Deployment.of("front", replica -> new Front()), Deployment.of("back", Back::new));
  }

  private static final class Front implements AsyncHandler {
    @Override
    public boolean streamsRequests() {
      return true;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      DeploymentHandle back = context.handle("back");
      if (!request.path().endsWith("/all")) {
        return back.call(request);
      }
      return back.broadcast(Request.get("/where"))
          .map(
              answers ->
                  Response.text(
                      answers.stream()
                          .map(BroadcastAnswer::replicaId)
                          .collect(Collectors.joining(","))));
    }
  }

  private record Back(String replica) implements AsyncHandler {
    Back(ReplicaContext context) {
      this(context.replicaId());
    }

    @Override
    public boolean streamsRequests() {
      return true;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      if (request.path().endsWith("/hang")) {
        HUNG.incrementAndGet();
        Promise<Response> never = Promise.promise();
        context.onCancel(
            () -> {
              CANCELLED.incrementAndGet();
              never.tryFail("cancelled");
            });
        return never.future();
      }
      return Future.succeededFuture(
          request.path().endsWith("/echo")
              ? Response.stream("text/plain", writer -> echo(request, writer))
              : Response.text(replica));
    }

    private static Future<Void> echo(Request request, ResponseWriter writer) {
      Promise<Void> done = Promise.promise();
      var body = request.stream();
      body.exceptionHandler(done::tryFail)
          .endHandler(end -> done.tryComplete())
          .handler(
              piece -> {
                body.pause();
                writer.write(piece).onSuccess(taken -> body.resume()).onFailure(done::tryFail);
              })
          .resume();
      return done.future();
    }
  }
}

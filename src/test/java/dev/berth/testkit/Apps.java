package dev.berth.testkit;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Deployment;
import dev.berth.api.HandlerFactory;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Applications of one deployment, named {@code one}. */
final class Apps {
  private Apps() {}

  static Application of(AsyncHandler handler) {
    return Application.of(Deployment.async("one", handler));
  }

  /** Of handlers that have state. */
  static Application made(HandlerFactory factory) {
    return made(1, factory);
  }

  static Application made(int replicas, HandlerFactory factory) {
    return Application.of(Deployment.of("one", factory).withNumReplicas(replicas));
  }

  static Application blocking(BlockingHandler handler) {
    return Application.of(Deployment.blocking("one", handler));
  }

  static Future<Response> text(String text) {
    return Future.succeededFuture(Response.text(text));
  }

  /** Answers with the path. */
  static Application echo() {
    return of((request, context) -> text(request.path()));
  }

  /** Answers after a delay. */
  static Application slow(Duration delay) {
    return of(
        (request, context) -> context.after(delay).map(none -> Response.text(request.path())));
  }

  /** Answers with the replica's id. */
  static Application naming(int replicas) {
    return Application.of(
        Deployment.async("one", (request, context) -> text(context.replicaId()))
            .withNumReplicas(replicas));
  }

  /** A handler whose requests the test answers. */
  static final class Gate implements AsyncHandler {
    final List<Promise<Response>> entered = new ArrayList<>();

    @Override
    public Future<Response> handle(
        dev.berth.api.Request request, dev.berth.api.RequestContext context) {
      Promise<Response> answer = Promise.promise();
      entered.add(answer);
      return answer.future();
    }

    void open() {
      List<Promise<Response>> all = List.copyOf(entered);
      entered.clear();
      all.forEach(answer -> answer.complete(Response.text("open")));
    }
  }
}

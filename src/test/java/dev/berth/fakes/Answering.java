package dev.berth.fakes;

import dev.berth.api.AsyncHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;

/** Answers with one text, at once; for tests of what a handler does beside that. */
public class Answering implements AsyncHandler {
  private final String text;

  public Answering(String text) {
    this.text = text;
  }

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    return Future.succeededFuture(Response.text(text));
  }
}

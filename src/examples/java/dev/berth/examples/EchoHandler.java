package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;

/** Responds to any method with the body and content type of the request. Stateless. */
final class EchoHandler implements AsyncHandler {
  static final String DEFAULT_CONTENT_TYPE = "application/octet-stream";

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    String contentType = request.headers().get("content-type");
    return Future.succeededFuture(
        Response.of(
            200, contentType == null ? DEFAULT_CONTENT_TYPE : contentType, request.bytes()));
  }
}

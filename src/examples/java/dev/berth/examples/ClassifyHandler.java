package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;

/**
 * The ingress of {@code /classify}. It accepts pixels as JSON, or a PNG, and calls {@code digits},
 * which takes the pictures of several calls in one batch.
 */
final class ClassifyHandler implements AsyncHandler {
  private static final String SUPPORTED = "application/json or image/png";

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    if (!request.method().equals("POST")) {
      return Future.succeededFuture(BadInput.methodNotAllowed(request.method(), "POST"));
    }
    String contentType = request.headers().get("content-type");
    try {
      return switch (BadInput.mediaType(contentType)) {
        // Parsed here, so that an invalid array is rejected before it holds a slot of the model.
        case "application/json" ->
            ask(Pixels.MEDIA_TYPE, Pixels.fromJson(request.bytes()).toBuffer(), context);
        case "image/png" -> ask("image/png", request.bytes(), context);
        default -> throw BadInput.unsupportedContentType(contentType, SUPPORTED);
      };
    } catch (BadInput bad) {
      return Future.succeededFuture(bad.toResponse());
    }
  }

  private static Future<Response> ask(String contentType, Buffer body, RequestContext context) {
    Request question = Request.post("/", body).withHeader("content-type", contentType);
    return context.handle("digits").call(question);
  }
}

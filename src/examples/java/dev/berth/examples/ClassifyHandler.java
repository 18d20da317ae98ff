package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.CallOptions;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Headers;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.Optional;

/**
 * The ingress of {@code /classify}: takes pixels as JSON, or a PNG, chooses a replica of {@code
 * digits}, names it in the answer, and dispatches to it.
 */
final class ClassifyHandler implements AsyncHandler {
  /** Names the replica that read the digit. */
  static final String REPLICA_HEADER = "X-Berth-Replica";

  private static final String SUPPORTED = "application/json or image/png";

  private final DeploymentHandle digits;

  ClassifyHandler(DeploymentHandle digits) {
    this.digits = digits;
  }

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    if (!request.method().equals("POST")) {
      return Future.succeededFuture(BadInput.methodNotAllowed(request.method(), "POST"));
    }
    String contentType = request.headers().get("content-type");
    try {
      return switch (BadInput.mediaType(contentType)) {
        // Read here, so that a bad array is refused before it holds a slot of the model.
        case "application/json" ->
            ask(Pixels.MEDIA_TYPE, Pixels.fromJson(request.bytes()).toBuffer(), context);
        case "image/png" -> ask("image/png", request.bytes(), context);
        default -> Future.succeededFuture(BadInput.unsupportedContentType(contentType, SUPPORTED));
      };
    } catch (BadInput bad) {
      return Future.succeededFuture(bad.toResponse());
    }
  }

  private Future<Response> ask(String contentType, Buffer body, RequestContext context) {
    CallOptions options = CallOptions.defaults().withRequestId(context.requestId());
    Optional<Duration> remaining = context.remaining();
    if (remaining.isPresent()) {
      if (remaining.get().isZero()) {
        return Future.failedFuture(new BerthException.Timeout("classify: its deadline has passed"));
      }
      options = options.withTimeout(remaining.get());
    }
    Headers headers = Headers.of("content-type", contentType);
    Request question = new Request("POST", "/", null, headers, body);
    return digits
        .options(options)
        .withSelection(selection -> dispatch(selection, question, context));
  }

  private static Future<Response> dispatch(
      ReplicaSelection selection, Request question, RequestContext context) {
    if (context.cancelled()) { // while it waited for a replica; the selection is closed for us
      return Future.failedFuture(new BerthException.Cancelled("classify: its caller has left"));
    }
    DeploymentHandle.Call call = selection.start(question);
    context.onCancel(call::cancel);
    return call.response().map(answer -> answer.withHeader(REPLICA_HEADER, selection.replicaId()));
  }
}

package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.CallOptions;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;

/**
 * Composition: calls another deployment on behalf of its own request. {@code within(context)} makes
 * the calls carry the request's id and trace, end by its deadline, and end with it when its client
 * leaves. A child that is full fails the parent with the same status, and so needs no code here.
 */
final class WordsHandler implements AsyncHandler {
  private static final int MAX_BYTES = 64 << 10; // of what is gathered of one answer
  private final DeploymentHandle upper;
  private final DeploymentHandle count;

  WordsHandler(DeploymentHandle letters) {
    this.upper = letters.options(CallOptions.defaults().withMethodName("upper"));
    this.count = letters.options(CallOptions.defaults().withMethodName("count"));
  }

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    String text = request.queryParameter("text");
    if (text == null) {
      return Future.succeededFuture(Response.json(400, "{\"error\": \"text is missing\"}"));
    }
    Request child = Request.post("/", Buffer.buffer(text));
    Future<Buffer> shouted = bytes(upper.within(context).call(child));
    Future<Buffer> counted = bytes(count.within(context).call(child)); // both at the same time
    return Future.all(shouted, counted)
        .map(
            both ->
                Response.text(
                    shouted.result().toString() + " has " + counted.result() + " letters\n"));
  }

  private static Future<Buffer> bytes(Future<Response> response) {
    return response.compose(answer -> answer.bytes(MAX_BYTES));
  }
}

package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;

/**
 * A composition: calls another deployment on behalf of its own request. Calls by {@code
 * context.handle} carry the request's id and trace, end by its deadline, and are cancelled when its
 * client disconnects. A child without capacity fails the parent with the same status, and so needs
 * no code here.
 */
final class WordsHandler implements AsyncHandler {
  private static final int MAX_BYTES = 64 << 10; // of each child's response

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    String text = request.queryParameter("text");
    if (text == null) {
      return Future.succeededFuture(Response.json(400, "{\"error\": \"text is missing\"}"));
    }
    Request child = Request.post("/", Buffer.buffer(text));
    DeploymentHandle letters = context.handle("letters");
    Future<Buffer> shouted = bytes(letters.method("upper").call(child));
    Future<Buffer> counted = bytes(letters.method("count").call(child)); // both in parallel
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

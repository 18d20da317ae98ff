package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;

/**
 * A handler that chooses, then dispatches. It holds a slot of the replica while it uses the
 * replica's name, here for a header. The selection is always closed; otherwise its lease would
 * expire.
 */
final class ChoosingHandler implements AsyncHandler {
  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    return context
        .handle("named")
        .withSelection(
            selection ->
                selection
                    .dispatch(request)
                    .map(response -> response.withHeader("x-chosen", selection.replicaId())));
  }
}

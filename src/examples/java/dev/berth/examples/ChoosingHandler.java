package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;

/**
 * Choose, then dispatch: a slot of the replica is held while something is done with its name, here
 * a header. The selection is closed whatever happens; were it not, its lease would run out.
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

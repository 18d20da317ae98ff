package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.Map;

/** Prices by path, set by the body of any request other than GET. */
final class PricesHandler implements AsyncHandler {
  private final Map<String, String> prices = new HashMap<>();

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    if (!request.method().equals("GET")) {
      prices.put(request.path(), request.bytes().toString());
    }
    return Future.succeededFuture(
        Response.text(prices.getOrDefault(request.path(), "unknown") + "\n"));
  }
}

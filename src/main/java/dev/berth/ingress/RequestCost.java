package dev.berth.ingress;

import dev.berth.api.Request;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;

/** Determines the cost of a request by the {@link CostRule} of its route, before its call. */
final class RequestCost {
  /** Maximum size in bytes of a body that is read whole. */
  private static final long MAX_BODY_BYTES = 64 << 20;

  private RequestCost() {}

  /** Returns the maximum bytes of a body that the rule needs whole; 0 if it needs none. */
  static int gatheredBytes(HttpExchange exchange, CostRule rule) {
    MultiMap headers = exchange.http.headers();
    return rule.needsBody(headers) && ReservationHeader.of(headers) == null
        ? exchange.loop.wholeBytes(MAX_BODY_BYTES)
        : 0;
  }

  /** Determines the cost and calls the router, or refuses the request. */
  static void determine(HttpExchange exchange, Request.Body body, long nowNanos) {
    CostRule rule = exchange.route.to().cost();
    MultiMap headers = exchange.http.headers();
    Buffer whole = body instanceof Request.Body.Whole all ? all.bytes() : null;
    if (rule == null || !exchange.takesSlots() || ReservationHeader.of(headers) != null) {
      exchange.proceed(body, nowNanos); // on the slots of its reservation, or on none
    } else if (whole == null && rule.needsBody(headers)) {
      exchange.refuseBody(ErrorResponses.TOO_MANY_REQUESTS); // no memory for the whole body
    } else {
      long bytes =
          whole != null
              ? whole.length()
              : BodyReader.lengthOf(String.valueOf(headers.get(HttpHeaders.CONTENT_LENGTH)));
      BodyScan.run(
          exchange,
          whole == null || !rule.readsBody() ? BodyReader.EMPTY : whole,
          nowNanos,
          scanned -> rule.slots(headers, bytes, scanned),
          (slots, now) -> {
            exchange.cost = slots;
            exchange.proceed(body, now);
          });
    }
  }
}

package dev.berth.ingress;

import dev.berth.api.Request;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;

/** Determines the cost of a request by the {@link CostRule} of its route, before its call. */
final class RequestCost {
  /** Maximum size in bytes of a body that is read whole. */
  private static final long MAX_BODY_BYTES = 64 << 20;

  private RequestCost() {}

  /** Returns the maximum bytes of a body that the rule needs whole; 0 if it needs none. */
  static int gatheredBytes(HttpExchange exchange) {
    CostRule rule = exchange.route.to().cost();
    MultiMap headers = exchange.http.headers();
    return rule != null && rule.needsBody(headers) && ReservationHeader.of(headers) == null
        ? exchange.loop.wholeBytes(MAX_BODY_BYTES)
        : 0;
  }

  /** Determines the cost and calls the router, or refuses the request. */
  static void determine(HttpExchange exchange, Request.Body body, long nowNanos) {
    CostRule rule = exchange.route.to().cost();
    MultiMap headers = exchange.http.headers();
    Buffer whole = body instanceof Request.Body.Whole all ? all.bytes() : null;
    if (exchange.isOver()) {
      return;
    }
    if (rule == null || !exchange.takesSlots() || ReservationHeader.of(headers) != null) {
      exchange.proceed(body, nowNanos); // on the slots of its reservation, or on none
    } else if (whole == null && rule.needsBody(headers)) {
      exchange.refuseBody(ErrorResponses.TOO_MANY_REQUESTS); // no memory for the whole body
    } else {
      BodyScan.run(
          exchange,
          whole == null || !rule.readsBody() ? BodyReader.EMPTY : whole,
          nowNanos,
          scanned -> rule.slots(headers, whole == null ? -1 : whole.length(), scanned),
          (slots, now) -> {
            exchange.cost = slots;
            exchange.proceed(body, now);
          });
    }
  }
}

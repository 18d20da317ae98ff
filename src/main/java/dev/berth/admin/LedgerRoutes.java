package dev.berth.admin;

import io.vertx.core.http.HttpHeaders;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;

/** {@code GET /api/v1/ledger}: who holds the slots of each replica, and whether they add up. */
public final class LedgerRoutes implements AdminRoutes {
  private final LedgerSource ledgers;
  private final SharedReads<String> reads = new SharedReads<>();

  public LedgerRoutes(LedgerSource ledgers) {
    this.ledgers = ledgers;
  }

  @Override
  public void mount(Router router) {
    router.get("/api/v1/ledger").handler(this::ledger);
  }

  private void ledger(RoutingContext context) {
    reads
        .read(
            context.vertx(),
            "ledger",
            () -> LedgerJson.of(ledgers.ledgers()).encodePrettily() + "\n")
        .onComplete(
            text ->
                context
                    .response()
                    .putHeader(HttpHeaders.CONTENT_TYPE, "application/json")
                    .end(text),
            context::fail);
  }
}

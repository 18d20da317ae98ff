package dev.berth.node;

import dev.berth.api.RequestContext;
import dev.berth.replica.WorkFields;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxBootstrap;
import io.vertx.core.spi.VertxServiceProvider;
import io.vertx.core.spi.context.storage.ContextLocal;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The request that an event loop works for, in the context of Vert.x that every message gets for
 * itself: it goes along to callbacks of what is begun there, and is looked at only when a line is
 * logged. Each Vert.x has a place for it, as this is among its services.
 */
public final class RequestLocal implements VertxServiceProvider {
  private static final ContextLocal<RequestContext> REQUEST =
      ContextLocal.registerLocal(RequestContext.class);

  /** Called by Vert.x. */
  public RequestLocal() {}

  @Override
  public void init(VertxBootstrap builder) {
    // The place was made with this class.
  }

  static void put(Context context, RequestContext request) {
    REQUEST.put(context, request);
  }

  /** How the log names the request that the caller's event loop works for; empty if for none. */
  public static Map<String, String> fields() {
    Context context = Vertx.currentContext();
    RequestContext request = context == null ? null : REQUEST.get(context);
    if (request == null) {
      return Map.of();
    }
    Map<String, String> fields = new LinkedHashMap<>();
    WorkFields.of(request, fields::put);
    return fields;
  }
}

package dev.berth.node.loops;

import dev.berth.api.RequestContext;
import dev.berth.replica.log.RequestLogFields;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.spi.context.storage.ContextLocal;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The request that an event loop works for, stored in the Vert.x context of each message. Callbacks
 * of that message inherit the context. The value is read only when a line is logged.
 */
public final class RequestLocal {
  private static final ContextLocal<RequestContext> REQUEST =
      ContextLocal.registerLocal(RequestContext.class);

  private RequestLocal() {}

  /**
   * Registers the context local. Call it before Vert.x is created: a Vert.x has slots only for
   * locals registered by then.
   */
  public static void prepare() {
    // The initializer of this class registers the local.
  }

  /**
   * @param context context of a Vert.x that was created after {@link #prepare}
   */
  public static void put(Context context, RequestContext request) {
    REQUEST.put(context, request);
  }

  static @Nullable RequestContext get(Context context) {
    return REQUEST.get(context);
  }

  /** Returns whether the context's Vert.x has the slot; a user's own Vert.x may be older. */
  public static boolean hasRoom(Context context) {
    try {
      REQUEST.get(context);
      return true;
    } catch (IllegalArgumentException madeBefore) {
      return false;
    }
  }

  /**
   * Returns the log fields of the request that the caller's event loop works for; empty for none.
   */
  public static Map<String, String> fields() {
    Context context = Vertx.currentContext();
    @Nullable RequestContext request = context != null && hasRoom(context) ? get(context) : null;
    if (request == null) {
      return Map.of();
    }
    Map<String, String> fields = new LinkedHashMap<>();
    RequestLogFields.of(request, fields::put);
    return fields;
  }
}

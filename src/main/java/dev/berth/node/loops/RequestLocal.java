package dev.berth.node.loops;

import dev.berth.api.RequestContext;
import dev.berth.replica.log.WorkFields;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.spi.context.storage.ContextLocal;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The request that an event loop works for, in the context of Vert.x that every message gets for
 * itself: it goes along to callbacks of what is begun there, and is looked at only when a line is
 * logged.
 */
public final class RequestLocal {
  private static final ContextLocal<RequestContext> REQUEST =
      ContextLocal.registerLocal(RequestContext.class);

  private RequestLocal() {}

  /** To be called before a Vert.x is made: it has room for what is known by then. */
  public static void prepare() {
    // The room was asked for with this class.
  }

  /**
   * @param context of a Vert.x that was made after {@link #prepare}
   */
  public static void put(Context context, RequestContext request) {
    REQUEST.put(context, request);
  }

  static @Nullable RequestContext get(Context context) {
    return REQUEST.get(context);
  }

  /** Whether its Vert.x has room for it; that of a user's own may have been made before. */
  public static boolean hasRoom(Context context) {
    try {
      REQUEST.get(context);
      return true;
    } catch (IllegalArgumentException madeBefore) {
      return false;
    }
  }

  /** How the log names the request that the caller's event loop works for; empty if for none. */
  public static Map<String, String> fields() {
    Context context = Vertx.currentContext();
    @Nullable RequestContext request = context != null && hasRoom(context) ? get(context) : null;
    if (request == null) {
      return Map.of();
    }
    Map<String, String> fields = new LinkedHashMap<>();
    WorkFields.of(request, fields::put);
    return fields;
  }
}

package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.ReplicaContext;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.MessageConsumer;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;

/**
 * A cache of the values of {@code prices}. A change publishes its path on the event bus, so that
 * the caches of all nodes drop it. The event bus may lose that message: entries also expire. The
 * handler and its consumer run on the same event loop.
 */
final class CachingHandler implements AsyncHandler {
  /** Address of the paths that have changed. */
  static final String CHANGED = "examples.prices.changed";

  static final Duration EXPIRY = Duration.ofSeconds(5);

  private static final int MAX_ENTRIES = 10_000;

  private record Entry(Response response, Instant until) {}

  private final EventBus bus;
  private final Map<String, Entry> entries = new HashMap<>(); // by path
  private final MessageConsumer<String> consumer;
  private long changes;

  CachingHandler(ReplicaContext replica) {
    bus = replica.eventBus();
    consumer = bus.consumer(CHANGED, message -> drop(message.body()));
  }

  private void drop(String path) {
    changes++;
    entries.remove(path);
  }

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    String path = request.path();
    if (!request.method().equals("GET")) {
      return context
          .handle("prices")
          .call(request)
          .onSuccess(changed -> bus.publish(CHANGED, path));
    }
    Entry known = entries.get(path);
    if (known != null && context.now().isBefore(known.until)) {
      return Future.succeededFuture(known.response);
    }
    long before = changes;
    Instant until = context.now().plus(EXPIRY);
    return context
        .handle("prices")
        .call(request)
        .onSuccess(
            read -> {
              // A value that was read during a change may be the former one.
              if (before == changes && entries.size() < MAX_ENTRIES) {
                entries.put(path, new Entry(read, until));
              }
            });
  }

  @Override
  public void stop() {
    consumer.unregister();
  }
}

package dev.berth.replica;

import dev.berth.protocol.port.HandleFactory;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * Thread-safe cache of the handles of a replica's code on one loop. A handle is created on first
 * use and then found without a lock, because each request looks it up by name.
 */
final class HandleCache {
  private final Map<String, HandleFactory> known = new ConcurrentHashMap<>();
  private volatile Function<String, HandleFactory> made;

  HandleCache(Function<String, HandleFactory> made) {
    this.made = made;
  }

  /**
   * Returns the handle of a deployment.
   *
   * @throws IllegalArgumentException when the application has no such deployment
   */
  HandleFactory of(String deployment) {
    HandleFactory handle = known.get(deployment);
    return handle != null ? handle : known.computeIfAbsent(deployment, made);
  }

  /** Stops creating handles, and drops the factory, which holds the application's code. */
  void retire() {
    made =
        deployment -> {
          throw new IllegalArgumentException(
              "deployment: " + deployment + " (expected: asked for while the replica runs)");
        };
  }
}

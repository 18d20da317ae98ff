package dev.berth.replica;

import dev.berth.protocol.port.BareHandle;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * The handles of a replica's code on one loop. Each is made when it is first asked for and then
 * found without a lock, since requests ask by name. Any thread.
 */
final class KnownHandles {
  private final Map<String, BareHandle> known = new ConcurrentHashMap<>();
  private volatile Function<String, BareHandle> made;

  KnownHandles(Function<String, BareHandle> made) {
    this.made = made;
  }

  /**
   * @throws IllegalArgumentException when the application has no such deployment
   */
  BareHandle of(String deployment) {
    BareHandle handle = known.get(deployment);
    return handle != null ? handle : known.computeIfAbsent(deployment, made);
  }

  /** Makes no more, and lets go of what made them, which holds the application's code. */
  void retire() {
    made =
        deployment -> {
          throw new IllegalArgumentException(
              "deployment: " + deployment + " (expected: asked for while the replica runs)");
        };
  }
}

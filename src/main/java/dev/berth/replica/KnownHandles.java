package dev.berth.replica;

import dev.berth.protocol.port.BareHandle;
import java.util.Arrays;
import java.util.function.Function;

/**
 * The handles of a replica's code on one loop. Each is made when it is first asked for and then
 * found by a look at a few names, since requests ask by name. Any thread.
 */
final class KnownHandles {
  private volatile Function<String, BareHandle> made;
  private volatile BareHandle[] known = {}; // replaced, never written to

  KnownHandles(Function<String, BareHandle> made) {
    this.made = made;
  }

  /**
   * @throws IllegalArgumentException when the application has no such deployment
   */
  BareHandle of(String deployment) {
    for (BareHandle handle : known) {
      if (handle.deployment().name().equals(deployment)) {
        return handle;
      }
    }
    return first(deployment);
  }

  /** Makes no more, and lets go of what made them, which holds the application's code. */
  void retire() {
    made =
        deployment -> {
          throw new IllegalArgumentException(
              "deployment: " + deployment + " (expected: asked for while the replica runs)");
        };
  }

  /** Two threads may both find that it is missing: what they add is alike. */
  private BareHandle first(String deployment) {
    BareHandle handle = made.apply(deployment);
    BareHandle[] before = known;
    BareHandle[] more = Arrays.copyOf(before, before.length + 1);
    more[before.length] = handle;
    known = more;
    return handle;
  }
}

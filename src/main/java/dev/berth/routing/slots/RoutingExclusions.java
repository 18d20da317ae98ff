package dev.berth.routing.slots;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * The event loops of this instance that are blocked, so that they run no tasks now, and the
 * instances that may be dead (suspected instances). The monitors of loops and instances write this
 * state, and any thread reads it. While no loop is blocked, {@link #any} reads one field.
 */
public final class RoutingExclusions {
  private final AtomicIntegerArray blocked; // 1 or 0, indexed by loop
  private final AtomicInteger count = new AtomicInteger();
  private final Set<String> suspects = ConcurrentHashMap.newKeySet(); // suspected instances

  public RoutingExclusions(int loops) {
    blocked = new AtomicIntegerArray(loops);
  }

  int loops() {
    return blocked.length();
  }

  /** Returns whether any loop is blocked. */
  boolean any() {
    return count.get() > 0;
  }

  public boolean contains(int loop) {
    return blocked.get(loop) != 0;
  }

  boolean suspects(String instance) {
    return suspects.contains(instance);
  }

  /** Records whether an instance is suspected. Returns false if this was recorded before. */
  public boolean suspect(String instance, boolean isSuspected) {
    return isSuspected ? suspects.add(instance) : suspects.remove(instance);
  }

  /** Records whether a loop is blocked. Returns false if this was recorded before. */
  public boolean set(int loop, boolean isBlocked) {
    if (!blocked.compareAndSet(loop, isBlocked ? 0 : 1, isBlocked ? 1 : 0)) {
      return false;
    }
    count.addAndGet(isBlocked ? 1 : -1);
    return true;
  }
}

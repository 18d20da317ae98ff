package dev.berth.routing.slots;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Which event loops of this instance take no tasks now, because something on them blocks, and which
 * other instances are suspected to be dead. Written by whoever watches them, read by any thread;
 * while no loop is blocked a reader reads one field.
 */
public final class BlockedLoops {
  private final AtomicIntegerArray blocked; // 1 or 0, by loop
  private final AtomicInteger count = new AtomicInteger();
  private final Set<String> suspects = ConcurrentHashMap.newKeySet(); // instances

  public BlockedLoops(int loops) {
    blocked = new AtomicIntegerArray(loops);
  }

  int loops() {
    return blocked.length();
  }

  /** Whether there is one. */
  boolean any() {
    return count.get() > 0;
  }

  public boolean contains(int loop) {
    return blocked.get(loop) != 0;
  }

  boolean suspects(String instance) {
    return suspects.contains(instance);
  }

  /** Notes that an instance is suspected, or is not; false when that was known. */
  public boolean suspect(String instance, boolean isSuspected) {
    return isSuspected ? suspects.add(instance) : suspects.remove(instance);
  }

  /** Notes that a loop is blocked, or is not; false when that was known. */
  public boolean set(int loop, boolean isBlocked) {
    if (!blocked.compareAndSet(loop, isBlocked ? 0 : 1, isBlocked ? 1 : 0)) {
      return false;
    }
    count.addAndGet(isBlocked ? 1 : -1);
    return true;
  }
}

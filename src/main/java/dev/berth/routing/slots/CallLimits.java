package dev.berth.routing.slots;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Estimates how many more calls one replica accepts within limits by name, such as those of tools.
 * A limit is known here once the replica has refused a call for it. Thread-safe.
 */
public final class CallLimits {
  private record KnownLimit(String text, AtomicInteger free) {}

  private final Map<String, KnownLimit> known = new ConcurrentHashMap<>();

  private @Nullable KnownLimit get(String name) {
    return name.isEmpty() || known.isEmpty() ? null : known.get(name);
  }

  boolean hasRoom(String name) {
    return full(name) == null;
  }

  boolean tryTake(String name) {
    KnownLimit limit = get(name);
    return limit == null || limit.free.getAndUpdate(n -> n > 0 ? n - 1 : n) > 0;
  }

  /** Adds room after a call has ended. Returns whether a waiter may use it. */
  public boolean giveBack(String name) {
    KnownLimit limit = get(name);
    return limit != null && limit.free.incrementAndGet() > 0;
  }

  /** Records a refusal, before {@link #giveBack} for the refused call. */
  public void onRefused(String name, String text) {
    known.put(name, new KnownLimit(text, new AtomicInteger(-1)));
  }

  /** Permits one call despite the estimate, since a replica reports no room. */
  public void permitOne(String name) {
    KnownLimit limit = get(name);
    if (limit != null) {
      limit.free.updateAndGet(n -> Math.max(n, 1));
    }
  }

  /** Forgets all limits, or permits one call of each. */
  void relax(boolean forget) {
    if (forget) {
      known.clear();
    } else {
      known.keySet().forEach(this::permitOne);
    }
  }

  /** Returns the limit in words if it has no room; else null. */
  public @Nullable String full(String name) {
    KnownLimit limit = get(name);
    return limit == null || limit.free.get() > 0 ? null : limit.text;
  }
}

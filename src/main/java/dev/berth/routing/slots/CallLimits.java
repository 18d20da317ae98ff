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
  private record KnownLimit(String text, AtomicInteger free, AtomicInteger step) {}

  private static final int MAX_STEP = 1 << 10;

  private final Map<String, KnownLimit> known = new ConcurrentHashMap<>();

  private @Nullable KnownLimit get(String name) {
    return name.isEmpty() || known.isEmpty() ? null : known.get(name);
  }

  boolean isKnown(String name) {
    return get(name) != null;
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
    known.put(name, new KnownLimit(text, new AtomicInteger(-1), new AtomicInteger(1)));
  }

  /** Permits one call despite the estimate, since a replica reports no room. */
  public void permitOne(String name) {
    permit(get(name), 1);
  }

  private static void permit(@Nullable KnownLimit limit, int calls) {
    if (limit != null) {
      limit.free.updateAndGet(n -> Math.max(n, calls));
    }
  }

  /**
   * Forgets all limits, or permits one call of each. If it permitted calls before, and none was
   * refused since, it permits twice as many: the limit has risen.
   */
  void relax(boolean forget) {
    if (forget) {
      known.clear();
    } else {
      known
          .values()
          .forEach(each -> permit(each, each.step.getAndUpdate(n -> Math.min(2 * n, MAX_STEP))));
    }
  }

  /** Returns the limit in words if it has no room; else null. */
  public @Nullable String full(String name) {
    KnownLimit limit = get(name);
    return limit == null || limit.free.get() > 0 ? null : limit.text;
  }
}

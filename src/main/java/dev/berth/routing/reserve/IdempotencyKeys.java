package dev.berth.routing.reserve;

import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Requests of each caller by idempotency key, stored for a time. A request that is repeated after a
 * lost response receives the first result and no second slot.
 *
 * <p>Bounded by time, by a maximum per caller and by a maximum in total. Beyond a maximum the
 * oldest key is dropped, of that caller or of the caller with the most keys. Thread-safe; guarded
 * by this.
 *
 * @param <A> type of the stored request
 */
final class IdempotencyKeys<A> {
  record RetainedRequest<A>(Object wish, A asked, long untilNanos) {}

  private final int maxKeys;
  private final int maxKeysPerCaller;
  private final long keyNanos;
  // By caller, then by key in order of arrival.
  private final Map<String, Map<String, RetainedRequest<A>>> callers = new HashMap<>();
  private int size;
  private long forgotten;

  IdempotencyKeys(int maxKeys, int maxKeysPerCaller, long keyNanos) {
    this.maxKeys = maxKeys;
    this.maxKeysPerCaller = Math.min(maxKeysPerCaller, maxKeys);
    this.keyNanos = keyNanos;
  }

  /** Returns the request stored under a key; null if there is none. */
  synchronized @Nullable RetainedRequest<A> find(String caller, String key, long now) {
    RetainedRequest<A> known = callers.getOrDefault(caller, Map.of()).get(key);
    return known == null || known.untilNanos - now <= 0 ? null : known;
  }

  synchronized void put(String caller, String key, Object wish, A asked, long now) {
    Map<String, RetainedRequest<A>> keys =
        callers.computeIfAbsent(caller, name -> new LinkedHashMap<>());
    if (keys.remove(key) != null) {
      size--;
    }
    keys.put(key, new RetainedRequest<>(wish, asked, now + keyNanos));
    size++;
    if (keys.size() > maxKeysPerCaller) {
      dropOldest(keys);
    } else if (size > maxKeys) {
      sweep(now);
      if (size > maxKeys) {
        dropOldest(Collections.max(callers.values(), Comparator.comparingInt(Map::size)));
      }
    }
  }

  private void dropOldest(Map<String, RetainedRequest<A>> keys) {
    keys.remove(keys.keySet().iterator().next());
    size--;
    forgotten++;
  }

  /** Removes the key of a failed request, so that the next attempt starts a new one. */
  synchronized void remove(String caller, String key, A asked) {
    Map<String, RetainedRequest<A>> keys = callers.getOrDefault(caller, Map.of());
    RetainedRequest<A> known = keys.get(key);
    if (known != null && known.asked == asked) {
      keys.remove(key);
      size--;
      if (keys.isEmpty()) {
        callers.remove(caller);
      }
    }
  }

  /** Removes expired keys. */
  synchronized void sweep(long now) {
    callers
        .values()
        .removeIf(
            keys -> {
              int before = keys.size();
              // In order of arrival, so the first unexpired key ends the loop.
              var each = keys.values().iterator();
              while (each.hasNext() && each.next().untilNanos - now <= 0) {
                each.remove();
              }
              size -= before - keys.size();
              return keys.isEmpty();
            });
  }

  synchronized int size() {
    return size;
  }

  /** Returns the number of keys dropped before their expiry. */
  synchronized long forgotten() {
    return forgotten;
  }
}

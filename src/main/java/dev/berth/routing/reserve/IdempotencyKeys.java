package dev.berth.routing.reserve;

import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What each caller asked for under which key, for a while: so that a request which is repeated, as
 * its answer was lost, gets the answer and not a second slot.
 *
 * <p>Bounded by a time, by a number per caller and by a number in all: past one of these the oldest
 * is forgotten, of that caller or of the one that has most. Guarded by itself.
 *
 * @param <A> what was asked for
 */
final class IdempotencyKeys<A> {
  record Remembered<A>(Object wish, A asked, long untilNanos) {}

  private final int maxKeys;
  private final int maxKeysPerCaller;
  private final long keyNanos;
  // By caller, then by key in the order they came.
  private final Map<String, Map<String, Remembered<A>>> callers = new HashMap<>();
  private int size;
  private long forgotten;

  IdempotencyKeys(int maxKeys, int maxKeysPerCaller, long keyNanos) {
    this.maxKeys = maxKeys;
    this.maxKeysPerCaller = Math.min(maxKeysPerCaller, maxKeys);
    this.keyNanos = keyNanos;
  }

  /** What was asked for under the key; null when nothing is remembered. */
  synchronized @Nullable Remembered<A> find(String caller, String key, long now) {
    Remembered<A> known = callers.getOrDefault(caller, Map.of()).get(key);
    return known == null || known.untilNanos - now <= 0 ? null : known;
  }

  synchronized void put(String caller, String key, Object wish, A asked, long now) {
    Map<String, Remembered<A>> keys =
        callers.computeIfAbsent(caller, name -> new LinkedHashMap<>());
    if (keys.remove(key) != null) {
      size--;
    }
    keys.put(key, new Remembered<>(wish, asked, now + keyNanos));
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

  private void dropOldest(Map<String, Remembered<A>> keys) {
    keys.remove(keys.keySet().iterator().next());
    size--;
    forgotten++;
  }

  /** Forgets a key whose wish came to nothing: the next attempt asks anew. */
  synchronized void remove(String caller, String key, A asked) {
    Map<String, Remembered<A>> keys = callers.getOrDefault(caller, Map.of());
    Remembered<A> known = keys.get(key);
    if (known != null && known.asked == asked) {
      keys.remove(key);
      size--;
      if (keys.isEmpty()) {
        callers.remove(caller);
      }
    }
  }

  /** Forgets what is over its time. */
  synchronized void sweep(long now) {
    callers
        .values()
        .removeIf(
            keys -> {
              int before = keys.size();
              // In the order they came, so the first that stays ends it.
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

  /** Keys forgotten before their time. */
  synchronized long forgotten() {
    return forgotten;
  }
}

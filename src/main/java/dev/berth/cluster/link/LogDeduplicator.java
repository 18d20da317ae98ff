package dev.berth.cluster.link;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The last logged text per subject. Suppresses repeated log lines, such as those of a refused node
 * that retries. Not thread-safe.
 */
public final class LogDeduplicator {
  private static final int MAX_ENTRIES = 64; // subjects; the oldest is evicted

  private final Map<String, String> last =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, String> eldest) {
          return size() > MAX_ENTRIES;
        }
      };

  /** Returns whether a text differs from the subject's last one, and records it. */
  public boolean isNew(String of, String what) {
    return !what.equals(last.put(of, what));
  }
}

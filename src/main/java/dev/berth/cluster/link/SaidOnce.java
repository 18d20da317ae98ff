package dev.berth.cluster.link;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What was last said of each, so that a log says it once though it happens again and again: who is
 * refused tries again. Not thread-safe.
 */
public final class SaidOnce {
  private static final int MOST = 64; // the oldest go

  private final Map<String, String> last =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, String> eldest) {
          return size() > MOST;
        }
      };

  /** Whether something else was said of it before, or nothing. */
  public boolean isNew(String of, String what) {
    return !what.equals(last.put(of, what));
  }
}

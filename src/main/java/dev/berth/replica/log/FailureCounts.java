package dev.berth.replica.log;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * How often each class of failure came. Classes are told apart up to a number, since user code may
 * make them as it goes; what comes beyond counts as "other". Any thread.
 */
public final class FailureCounts {
  private static final String OTHER = "other";

  private final ConcurrentHashMap<String, LongAdder> counts = new ConcurrentHashMap<>();
  private final int maxClasses;

  /** Tells so many classes apart. */
  public FailureCounts(int maxClasses) {
    this.maxClasses = maxClasses;
  }

  /**
   * Counts one.
   *
   * @return as what: its class, or as one of the others
   */
  public String add(Throwable failure) {
    String name = failure.getClass().getName();
    if (counts.size() >= maxClasses && !counts.containsKey(name)) {
      name = OTHER;
    }
    counts.computeIfAbsent(name, any -> new LongAdder()).increment();
    return name;
  }

  /** The counts, by the class's name. */
  public Map<String, Long> sums() {
    Map<String, Long> sums = new TreeMap<>();
    counts.forEach((name, count) -> sums.put(name, count.sum()));
    return sums;
  }
}

package dev.berth.replica.log;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Thread-safe counts of failures by class. The number of classes is limited because user code may
 * define classes at run time; failures of further classes count as "other".
 */
public final class FailureCounts {
  private static final String OTHER = "other";

  private final ConcurrentHashMap<String, LongAdder> counts = new ConcurrentHashMap<>();
  private final int maxClasses;

  /** Creates counts for at most {@code maxClasses} classes. */
  public FailureCounts(int maxClasses) {
    this.maxClasses = maxClasses;
  }

  /**
   * Counts a failure.
   *
   * @return the name under which it counts: its class, or "other"
   */
  public String add(Throwable failure) {
    String name = failure.getClass().getName();
    if (counts.size() >= maxClasses && !counts.containsKey(name)) {
      name = OTHER;
    }
    counts.computeIfAbsent(name, any -> new LongAdder()).increment();
    return name;
  }

  /** Returns the counts by class name. */
  public Map<String, Long> sums() {
    Map<String, Long> sums = new TreeMap<>();
    counts.forEach((name, count) -> sums.put(name, count.sum()));
    return sums;
  }
}

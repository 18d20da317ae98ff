package dev.berth.replica;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The failures of one replica's user code: the first of each class is logged with its stack, the
 * rest are counted, so that a broken handler under load does not fill a disk. Any thread.
 */
final class FailureLog {
  private static final Logger LOG = LoggerFactory.getLogger(FailureLog.class);

  /** Classes told apart; what comes beyond counts as "other". */
  static final int MAX_CLASSES = 32;

  private final ConcurrentHashMap<String, LongAdder> counts = new ConcurrentHashMap<>();
  private final String replicaId;
  private final int maxClasses;

  FailureLog(String replicaId) {
    this(replicaId, MAX_CLASSES);
  }

  FailureLog(String replicaId, int maxClasses) {
    this.replicaId = replicaId;
    this.maxClasses = maxClasses;
  }

  void add(String what, Throwable cause) {
    String name = cause.getClass().getName();
    if (counts.size() >= maxClasses && !counts.containsKey(name)) {
      name = "other";
    }
    LongAdder fresh = new LongAdder();
    LongAdder known = counts.putIfAbsent(name, fresh);
    (known == null ? fresh : known).increment();
    if (known == null) {
      LOG.warn("replica {}: {}; more {} are counted, not logged", replicaId, what, name, cause);
    }
  }

  /** How often each class of failure came, by name. */
  Map<String, Long> counts() {
    Map<String, Long> sums = new TreeMap<>();
    counts.forEach((name, count) -> sums.put(name, count.sum()));
    return sums;
  }
}

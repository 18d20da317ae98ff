package dev.berth.replica;

import dev.berth.protocol.UserFailure;
import java.util.Map;
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

  private final FailureCounts counts;
  private final String replicaId;

  FailureLog(String replicaId) {
    this(replicaId, MAX_CLASSES);
  }

  FailureLog(String replicaId, int maxClasses) {
    this.replicaId = replicaId;
    this.counts = new FailureCounts(maxClasses);
  }

  void add(String what, Throwable cause) {
    if (counts.add(cause)) {
      String name = cause.getClass().getName();
      LOG.atWarn()
          .addKeyValue("replica", replicaId)
          .setCause(UserFailure.legible(cause))
          .log("replica {}: {}; more {} are counted, not logged", replicaId, what, name);
    }
  }

  /** How often each class of failure came, by name. */
  Map<String, Long> counts() {
    return counts.sums();
  }
}

package dev.berth.replica;

import dev.berth.metrics.LatencyBuckets;
import dev.berth.protocol.ReplicaStats;
import dev.berth.protocol.ReplicaStats.NamedStat;
import dev.berth.replica.hooks.HookThreads.HookKind;
import dev.berth.replica.hooks.InterruptibleCall;
import dev.berth.replica.log.FailureCounts;
import dev.berth.replica.log.FailureLog;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Collects the autoscaling statistics of one replica's handlers on a thread that may block, one
 * call at a time. A call that exceeds its timeout, measured from when it has a thread, is
 * interrupted. No other call starts until it ends. Thread-safe.
 *
 * <p>Source: Ray Serve's {@code record_autoscaling_stats}.
 */
public final class AutoscalingStats {
  private final String replicaId;
  private final ReplicaHooks hooks;
  private final FailureCounts failures = new FailureCounts(FailureLog.MAX_CLASSES);
  final LatencyBuckets times = new LatencyBuckets(); // written by one call at a time
  private volatile @Nullable InterruptibleCall underWay; // set by the host's tick and by sample

  /** Values since the last {@link #take}, by name. Guarded by this. */
  private final Map<String, DoubleSummaryStatistics> told = new TreeMap<>();

  AutoscalingStats(String replicaId, ReplicaHooks hooks) {
    this.replicaId = replicaId;
    this.hooks = hooks;
  }

  /** Starts a call unless one is running. A running call past its timeout is ended. */
  void sample(long timeoutNanos) {
    endIfLate(timeoutNanos);
    if (underWay != null) {
      return;
    }
    InterruptibleCall call = new InterruptibleCall();
    underWay = call;
    try {
      hooks.run(HookKind.STATS, () -> run(call));
    } catch (RejectedExecutionException stopping) {
      underWay = null;
    }
  }

  /** Ends the running call if it exceeds its timeout. */
  synchronized void endIfLate(long timeoutNanos) { // counted now: the call may never end
    InterruptibleCall call = underWay;
    if (call != null && call.isLate(timeoutNanos, hooks.now())) {
      call.end();
      recordFailure(
          new TimeoutException(
              "recordAutoscalingStats: not in time (expected: completion within its timeout)"));
    }
  }

  /** Ends the running call because the replica stops and needs no result. */
  void end() {
    InterruptibleCall call = underWay;
    if (call != null) {
      call.end();
    }
  }

  private void run(InterruptibleCall call) {
    long began = hooks.now();
    Throwable thrown =
        call.run(
            began,
            () -> {
              ReplicaStats now = ReplicaStats.of(replicaId, hooks.recordAutoscalingStats());
              call.requireWanted();
              add(now.stats());
            });
    times.add(hooks.now() - began);
    underWay = null;
    if (thrown != null && !call.isEnded()) {
      boolean wraps = thrown instanceof ExecutionException && thrown.getCause() != null;
      recordFailure(wraps ? thrown.getCause() : thrown);
    }
  }

  private void recordFailure(Throwable cause) {
    failures.add(cause);
    hooks.failures.add("recordAutoscalingStats failed", cause);
  }

  /**
   * Adds the values of one call. A different set of names replaces the values collected so far, so
   * that the number of names stays bounded.
   */
  private synchronized void add(List<NamedStat> now) {
    if (!told.keySet().equals(now.stream().map(NamedStat::name).collect(Collectors.toSet()))) {
      told.clear();
    }
    now.forEach(
        each ->
            told.computeIfAbsent(each.name(), name -> new DoubleSummaryStatistics())
                .accept(each.value()));
  }

  /** Returns the means of the values since the last call of this method; null for none. */
  public synchronized @Nullable ReplicaStats take() {
    if (told.isEmpty()) {
      return null;
    }
    List<NamedStat> means = new ArrayList<>();
    told.forEach((name, values) -> means.add(new NamedStat(name, values.getAverage())));
    told.clear();
    return new ReplicaStats(replicaId, means);
  }

  /**
   * Returns the number of failed calls, by class of the failure. Timeouts and invalid values count
   * too.
   */
  public Map<String, Long> failures() {
    return failures.sums();
  }
}

package dev.berth.replica;

import dev.berth.metrics.LatencyBuckets;
import dev.berth.protocol.ReplicaStats;
import dev.berth.protocol.ReplicaStats.Stat;
import dev.berth.replica.hooks.HookThreads.Kind;
import dev.berth.replica.hooks.UserCall;
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
 * Asks one replica's handlers what they tell of themselves, on a thread that may block, one call at
 * a time: one that hangs is interrupted at its timeout, which runs from when it has a thread, and
 * is joined by no other until it ends. Any thread.
 *
 * <p>Source: Ray Serve's {@code record_autoscaling_stats}.
 */
public final class AutoscalingStats {
  private final String replicaId;
  private final ReplicaHooks hooks;
  private final FailureCounts failures = new FailureCounts(FailureLog.MAX_CLASSES);
  private final LatencyBuckets times = new LatencyBuckets(); // one call at a time writes
  private volatile @Nullable UserCall underWay; // the host's tick and sample begin one

  /** Under the lock: since they were taken. */
  private final Map<String, DoubleSummaryStatistics> told = new TreeMap<>();

  AutoscalingStats(String replicaId, ReplicaHooks hooks) {
    this.replicaId = replicaId;
    this.hooks = hooks;
  }

  /** Begins a call, unless one is under way: that one is ended when its time is over. */
  void sample(long timeoutNanos) {
    endIfLate(timeoutNanos);
    if (underWay != null) {
      return;
    }
    UserCall call = new UserCall();
    underWay = call;
    try {
      hooks.run(Kind.STATS, () -> run(call));
    } catch (RejectedExecutionException stopping) {
      underWay = null;
    }
  }

  /** Ends the call under way if its time is over. */
  synchronized void endIfLate(long timeoutNanos) { // counted at once: it may never end
    UserCall call = underWay;
    if (call != null && call.isLate(timeoutNanos, hooks.now())) {
      call.end();
      failed(new TimeoutException("recordAutoscalingStats: not in time (expected: an end)"));
    }
  }

  /** The replica stops: nobody waits for what it would say. */
  void end() {
    UserCall call = underWay;
    if (call != null) {
      call.end();
    }
  }

  private void run(UserCall call) {
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
      failed(wraps ? thrown.getCause() : thrown);
    }
  }

  private void failed(Throwable cause) {
    failures.add(cause);
    hooks.failures.add("recordAutoscalingStats failed", cause);
  }

  /** Under other names than before it begins anew: so no more names gather than may be. */
  private synchronized void add(List<Stat> now) {
    if (!told.keySet().equals(now.stream().map(Stat::name).collect(Collectors.toSet()))) {
      told.clear();
    }
    now.forEach(
        each ->
            told.computeIfAbsent(each.name(), name -> new DoubleSummaryStatistics())
                .accept(each.value()));
  }

  /** The means of what was told since this was last asked; null when nothing was. */
  public synchronized @Nullable ReplicaStats take() {
    if (told.isEmpty()) {
      return null;
    }
    List<Stat> means = new ArrayList<>();
    told.forEach((name, values) -> means.add(new Stat(name, values.getAverage())));
    told.clear();
    return new ReplicaStats(replicaId, means);
  }

  /** Calls that failed, took too long or told what is none, by the class of the failure. */
  public Map<String, Long> failures() {
    return failures.sums();
  }

  /** How long calls took. */
  public LatencyBuckets times() {
    return times;
  }
}

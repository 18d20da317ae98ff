package dev.berth.replica;

import dev.berth.replica.hooks.HookThreads.HookKind;
import dev.berth.replica.hooks.InterruptibleCall;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Passes new {@code user_config}s to one replica's handlers, one at a time, each with a timeout. A
 * hanging hook is interrupted and its future fails. While a hook ignores the interrupt no other
 * hook starts, and later configurations wait within their own timeout. Thread-safe.
 */
final class UserConfigUpdater {
  /**
   * Timeout of the hooks of a replica for one configuration: ten minutes. A constant instead of
   * {@code health_check_timeout_s}, because a hook may read a model while its replica serves.
   */
  static final long RECONFIGURE_TIMEOUT_NANOS = TimeUnit.MINUTES.toNanos(10);

  private record ReconfigureCall(
      Map<String, Object> userConfig, Promise<Void> done, InterruptibleCall hook) {}

  private final ReplicaHooks hooks;
  private final Runnable toLookAt; // schedules an earlier tick

  // Guarded by this.
  private final ArrayDeque<ReconfigureCall> waiting = new ArrayDeque<>();
  private @Nullable ReconfigureCall turn; // the call whose timeout runs
  private long turnEndsNanos;
  private @Nullable ReconfigureCall executing; // on a thread, possibly past its timeout
  private boolean closed;

  UserConfigUpdater(ReplicaHooks hooks, Runnable toLookAt) {
    this.hooks = hooks;
    this.toLookAt = toLookAt;
  }

  /**
   * Enqueues a configuration.
   *
   * @return fails with the exception of a hook, with {@link TimeoutException} past the timeout,
   *     with {@link CancellationException} when the replica stopped first
   */
  Future<Void> give(Map<String, Object> userConfig) {
    Map<String, Object> copy = Collections.unmodifiableMap(new LinkedHashMap<>(userConfig));
    ReconfigureCall call = new ReconfigureCall(copy, Promise.promise(), new InterruptibleCall());
    synchronized (this) {
      if (closed) {
        return Future.failedFuture(stoppedException());
      }
      waiting.add(call);
    }
    advance();
    return call.done.future();
  }

  private static CancellationException stoppedException() {
    return new CancellationException("reconfigure: not executed (expected: a running replica)");
  }

  /** Starts the timeout of the next call, and the call itself unless another one runs. */
  private void advance() {
    ReconfigureCall next = null;
    boolean begun = false;
    synchronized (this) {
      if (turn == null) {
        turn = waiting.poll();
        if (turn != null) {
          turnEndsNanos = hooks.now() + RECONFIGURE_TIMEOUT_NANOS;
          begun = true;
        }
      }
      if (turn != null && executing == null) {
        next = turn;
        executing = next;
      }
    }
    if (begun) {
      toLookAt.run();
    }
    if (next != null) {
      start(next);
    }
  }

  private void start(ReconfigureCall call) {
    try {
      hooks.run(
          HookKind.RECONFIGURE,
          () -> settle(call, call.hook.run(hooks.now(), () -> hooks.reconfigure(call.userConfig))));
    } catch (RejectedExecutionException stopping) {
      settle(call, stopping);
    }
  }

  private void settle(ReconfigureCall call, @Nullable Throwable failure) {
    boolean inTime;
    synchronized (this) {
      executing = null;
      inTime = turn == call;
      if (inTime) {
        turn = null;
      }
    }
    // The code that ended the turn early, and interrupted the call, reports the failure.
    if (inTime && failure == null) {
      call.done.tryComplete();
    } else if (inTime) {
      fail(call, failure);
    }
    advance();
  }

  /** Fails the call that exceeds its timeout. */
  void tick() {
    ReconfigureCall late;
    boolean hangs;
    synchronized (this) {
      late = turn;
      if (late == null || turnEndsNanos - hooks.now() > 0) {
        return;
      }
      hangs = executing == late;
      turn = null;
      late.hook.end();
    }
    TimeoutException failure =
        new TimeoutException(
            "reconfigure: not done in %s s%s (expected: completion)"
                .formatted(
                    RECONFIGURE_TIMEOUT_NANOS / 1_000_000_000,
                    hangs ? "" : ": the previous one still runs"));
    fail(late, failure);
    advance();
  }

  private void fail(ReconfigureCall call, Throwable failure) {
    hooks.failures.add("reconfigure failed", failure);
    call.done.tryFail(failure);
  }

  /** Returns the time of the next tick on the nano clock; null when no timeout runs. */
  synchronized @Nullable Long nextLook() {
    return turn == null ? null : (Long) turnEndsNanos;
  }

  /** Interrupts the running call and fails the waiting ones, because the replica stops. */
  void close() {
    ArrayDeque<ReconfigureCall> dropped;
    synchronized (this) {
      closed = true;
      dropped = new ArrayDeque<>(waiting);
      waiting.clear();
      if (turn != null) {
        dropped.addFirst(turn);
        turn = null;
      }
      if (executing != null) {
        executing.hook.end();
      }
    }
    dropped.forEach(each -> each.done.tryFail(stoppedException()));
  }
}

package dev.berth.replica;

import dev.berth.replica.hooks.HookThreads.Kind;
import dev.berth.replica.hooks.UserCall;
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
 * Passes one replica's new {@code user_config}s to its handlers, one after the other, each within a
 * bound: a hook that hangs is interrupted, and whoever gave the configuration is told so. A hook
 * that heeds no interrupt is joined by no other; those that follow wait for it within their own
 * bound. Any thread.
 */
final class Reconfigurations {
  /**
   * How long the hooks of a replica may take for one configuration: ten minutes. A constant, and
   * not {@code health_check_timeout_s}: a hook may read a model, and its replica serves meanwhile.
   */
  static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(10);

  private record Call(Map<String, Object> userConfig, Promise<Void> done, UserCall hook) {}

  private final ReplicaHooks hooks;
  private final Runnable toLookAt; // another look is due sooner than was said

  // All under the lock.
  private final ArrayDeque<Call> waiting = new ArrayDeque<>();
  private @Nullable Call turn; // whose time runs
  private long turnEndsNanos;
  private @Nullable Call executing; // on a thread, its time may be over
  private boolean closed;

  Reconfigurations(ReplicaHooks hooks, Runnable toLookAt) {
    this.hooks = hooks;
    this.toLookAt = toLookAt;
  }

  /**
   * Passes a configuration on, after those given before.
   *
   * @return fails with what a hook threw, with {@link TimeoutException} when it took too long, with
   *     {@link CancellationException} when the replica stopped first
   */
  Future<Void> give(Map<String, Object> userConfig) {
    Map<String, Object> copy = Collections.unmodifiableMap(new LinkedHashMap<>(userConfig));
    Call call = new Call(copy, Promise.promise(), new UserCall());
    synchronized (this) {
      if (closed) {
        return Future.failedFuture(stopped());
      }
      waiting.add(call);
    }
    advance();
    return call.done.future();
  }

  private static CancellationException stopped() {
    return new CancellationException("reconfigure: not done (expected: a replica that serves)");
  }

  /** Gives the next one its turn, and a thread if none works. */
  private void advance() {
    Call next = null;
    boolean begun = false;
    synchronized (this) {
      if (turn == null) {
        turn = waiting.poll();
        if (turn != null) {
          turnEndsNanos = hooks.now() + PATIENCE_NANOS;
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

  private void start(Call call) {
    try {
      hooks.run(
          Kind.RECONFIGURE,
          () -> settle(call, call.hook.run(hooks.now(), () -> hooks.reconfigure(call.userConfig))));
    } catch (RejectedExecutionException stopping) {
      settle(call, stopping);
    }
  }

  private void settle(Call call, @Nullable Throwable failure) {
    boolean inTime;
    synchronized (this) {
      executing = null;
      inTime = turn == call;
      if (inTime) {
        turn = null;
      }
    }
    // Whoever took its turn away, and interrupted it, says why; that is the failure, not this one.
    if (inTime && failure == null) {
      call.done.tryComplete();
    } else if (inTime) {
      fail(call, failure);
    }
    advance();
  }

  /** Looks at the clock: ends the patience with one that takes too long. */
  void tick() {
    Call late;
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
            "reconfigure: not done in %s s%s (expected: an end)"
                .formatted(
                    PATIENCE_NANOS / 1_000_000_000, hangs ? "" : ": the one before it still runs"));
    fail(late, failure);
    advance();
  }

  private void fail(Call call, Throwable failure) {
    hooks.failures.add("reconfigure failed", failure);
    call.done.tryFail(failure);
  }

  /** When to look again, on the nano clock; null when none is under way. */
  synchronized @Nullable Long nextLook() {
    return turn == null ? null : (Long) turnEndsNanos;
  }

  /** The replica stops: what runs is interrupted, what waits has failed. */
  void close() {
    ArrayDeque<Call> dropped;
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
    dropped.forEach(each -> each.done.tryFail(stopped()));
  }
}

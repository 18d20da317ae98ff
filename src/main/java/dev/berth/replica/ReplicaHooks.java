package dev.berth.replica;

import dev.berth.api.ReplicaHandler;
import dev.berth.replica.hooks.ContextClassLoaderScope;
import dev.berth.replica.hooks.HookThreads.HookKind;
import dev.berth.replica.hooks.InterruptibleCall;
import dev.berth.replica.log.FailureLog;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Calls the hooks of one replica's handlers, one handler per seat, in the order of the seats. Hooks
 * run in a context that may block, with the class loader of the user's code.
 */
final class ReplicaHooks {
  /** Timeout of the stop hooks of a replica in nanoseconds, from the start of the first hook. */
  static final long STOP_HOOK_NANOS = TimeUnit.SECONDS.toNanos(10);

  private interface HandlerHook {
    void call(ReplicaHandler handler) throws Exception;
  }

  private final BiFunction<HookKind, Runnable, Runnable> threads;
  final LongSupplier nanoClock;
  final FailureLog failures; // of the replica's user code
  private final List<ReplicaHandler> handlers = new CopyOnWriteArrayList<>();
  private final InterruptibleCall stop = new InterruptibleCall();
  private int stopInterrupts; // confined to the thread that ticks the replica
  private volatile boolean checked; // a handler overrides checkHealth
  private volatile boolean tellsStats; // a handler overrides recordAutoscalingStats

  /**
   * @param threads run the callers of hooks, as {@code HookThreads#run} does for the replica
   */
  ReplicaHooks(
      BiFunction<HookKind, Runnable, Runnable> threads,
      LongSupplier nanoClock,
      FailureLog failures) {
    this.threads = threads;
    this.nanoClock = nanoClock;
    this.failures = failures;
  }

  /**
   * Runs a caller of hooks on a thread that may block.
   *
   * @return an action that cancels the task if it has not begun
   * @throws java.util.concurrent.RejectedExecutionException when the task will never run
   */
  Runnable run(HookKind kind, Runnable task) {
    return threads.apply(kind, task);
  }

  long now() {
    return nanoClock.getAsLong();
  }

  /** Adds a new handler to the later calls of hooks. */
  void add(ReplicaHandler handler) {
    handlers.add(handler);
    checked |= has(handler, "checkHealth");
    tellsStats |= has(handler, "recordAutoscalingStats");
  }

  private static boolean has(ReplicaHandler handler, String hook) {
    try {
      return handler.getClass().getMethod(hook).getDeclaringClass() != ReplicaHandler.class;
    } catch (NoSuchMethodException | LinkageError strange) {
      return true; // then it is called in any case
    }
  }

  /** Returns whether a health check runs any user code. */
  boolean checkHealthDoesSomething() {
    return checked;
  }

  /** Returns whether user code has periodic calls whose deadlines are checked. */
  boolean needTicks() {
    return checked || tellsStats;
  }

  /** Returns whether a handler provides autoscaling statistics. */
  boolean tellsStats() {
    return tellsStats;
  }

  void start() throws Throwable {
    each(ReplicaHandler::start, false);
  }

  void reconfigure(Map<String, Object> userConfig) throws Throwable {
    each(handler -> handler.reconfigure(userConfig), false);
  }

  void checkHealth() throws Throwable {
    each(ReplicaHandler::checkHealth, false);
  }

  /** Returns the statistics of all handlers, added up by name. Waits for pending futures. */
  Map<String, Double> recordAutoscalingStats() throws Throwable {
    Map<String, Double> sums = new TreeMap<>();
    each(
        handler ->
            handler
                .recordAutoscalingStats()
                .toCompletionStage()
                .toCompletableFuture()
                .get()
                .forEach((name, figure) -> sums.merge(name, figure.doubleValue(), Double::sum)),
        false);
    return sums;
  }

  /**
   * Stops every handler, even after an exception, and drops the references to them.
   *
   * @return the first exception of a handler
   */
  @Nullable Throwable stop() {
    Throwable thrown = stop.run(now(), () -> each(ReplicaHandler::stop, true));
    handlers.clear();
    return thrown;
  }

  /** Returns whether a stop hook has been called, rather than waiting for a thread. */
  boolean stopBegan() {
    return stop.beganNanos() != null;
  }

  /** Returns whether a stop hook runs now. */
  boolean isStopping() {
    return stop.thread() != null;
  }

  /**
   * Interrupts a stop that exceeds its timeout, and again after each further timeout, as there may
   * be several handlers.
   *
   * @return whether the stop was interrupted now
   */
  boolean interruptLateStop(long nowNanos) {
    boolean late = stop.isLate(STOP_HOOK_NANOS * (stopInterrupts + 1), nowNanos);
    if (late) {
      stopInterrupts++;
      stop.interrupt();
    }
    return late;
  }

  /**
   * Calls the hook of each handler in turn, and throws the first exception.
   *
   * @param all whether to call the others after an exception; their exceptions are added as
   *     suppressed
   */
  private void each(HandlerHook hook, boolean all) throws Throwable {
    Throwable first = null;
    for (ReplicaHandler handler : handlers) {
      try {
        if (first == null || all) {
          ContextClassLoaderScope.call(
              handler.getClass().getClassLoader(),
              () -> {
                hook.call(handler);
                return null;
              });
        }
      } catch (Throwable thrown) { // user code
        if (first == null) {
          first = thrown;
        } else if (first != thrown) {
          first.addSuppressed(thrown);
        }
      }
    }
    if (first != null) {
      throw first;
    }
  }
}

package dev.berth.replica;

import dev.berth.api.ReplicaHandler;
import dev.berth.replica.hooks.HookThreads.Kind;
import dev.berth.replica.hooks.UnderLoader;
import dev.berth.replica.hooks.UserCall;
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
 * The handlers of one replica, one for each of its seats, as the hooks reach them: in the order of
 * the seats, in a context that may block, with the class loader of the user's code.
 */
final class ReplicaHooks {
  /** How long the stop hooks of a replica may take, from when they begin. */
  static final long STOP_HOOK_NANOS = TimeUnit.SECONDS.toNanos(10);

  private interface Hook {
    void call(ReplicaHandler handler) throws Exception;
  }

  private final BiFunction<Kind, Runnable, Runnable> threads;
  final LongSupplier nanoClock;
  final FailureLog failures; // of the replica's user code
  private final List<ReplicaHandler> handlers = new CopyOnWriteArrayList<>();
  private final UserCall stop = new UserCall();
  private int stopInterrupts; // of who looks after the replica alone
  private volatile boolean checked; // one of them has a hook of its own for its health
  private volatile boolean tellsStats; // or tells something of itself

  /**
   * @param threads run what calls hooks, as {@code HookThreads#run} for the replica
   */
  ReplicaHooks(
      BiFunction<Kind, Runnable, Runnable> threads, LongSupplier nanoClock, FailureLog failures) {
    this.threads = threads;
    this.nanoClock = nanoClock;
    this.failures = failures;
  }

  /**
   * Runs what calls hooks of a kind on a thread that may block.
   *
   * @return takes it back if it has not begun
   * @throws java.util.concurrent.RejectedExecutionException when it will never run
   */
  Runnable run(Kind kind, Runnable task) {
    return threads.apply(kind, task);
  }

  long now() {
    return nanoClock.getAsLong();
  }

  /** A handler was made; what follows concerns it too. */
  void add(ReplicaHandler handler) {
    handlers.add(handler);
    checked |= has(handler, "checkHealth");
    tellsStats |= has(handler, "recordAutoscalingStats");
  }

  private static boolean has(ReplicaHandler handler, String hook) {
    try {
      return handler.getClass().getMethod(hook).getDeclaringClass() != ReplicaHandler.class;
    } catch (NoSuchMethodException | LinkageError strange) {
      return true; // then it is called, whatever it is
    }
  }

  /** Whether a check of their health runs any user code. */
  boolean checkHealthDoesSomething() {
    return checked;
  }

  /** Whether they tell anything of themselves. */
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

  /** What they tell of themselves, added up; waits for what is not known yet. */
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
   * Stops every handler, whatever one of them throws, and lets go of them.
   *
   * @return what the first of them threw
   */
  @Nullable Throwable stop() {
    Throwable thrown = stop.run(now(), () -> each(ReplicaHandler::stop, true));
    handlers.clear();
    return thrown;
  }

  /** Whether they were told to stop, and not only wait for a thread that tells them. */
  boolean stopBegan() {
    return stop.beganNanos() != null;
  }

  /** Whether one of them is being stopped now. */
  boolean isStopping() {
    return stop.thread() != null;
  }

  /**
   * Interrupts a stop that takes too long; again each time that this is over, for there may be
   * several handlers.
   *
   * @return whether it was interrupted now
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
   * Calls one after the other, and throws what the first of them threw.
   *
   * @param all whether the others are called all the same; what they throw is added
   */
  private void each(Hook hook, boolean all) throws Throwable {
    Throwable first = null;
    for (ReplicaHandler handler : handlers) {
      try {
        if (first == null || all) {
          UnderLoader.call(
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

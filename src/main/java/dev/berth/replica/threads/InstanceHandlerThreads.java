package dev.berth.replica.threads;

import dev.berth.metrics.MetricSeries;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Thread-safe owner of the threads of all blocking handlers of an instance, within {@code
 * berth.limits.max_handler_threads}. At the limit an idle thread of another replica ends so that a
 * new one can start.
 *
 * <p>Half of the limit is divided evenly among the applications; the other half is granted in order
 * of demand. An application that arrives when others hold all threads exceeds the limit by its
 * share. The surplus threads of the others then end after their task.
 */
public final class InstanceHandlerThreads implements HandlerThreads.HandlerThreadsFactory {
  private static final Logger LOG = LoggerFactory.getLogger(InstanceHandlerThreads.class);

  /** Time without a task after which a platform thread ends, in milliseconds. */
  public static final long IDLE_MILLIS = 30_000;

  final long idleMillis;
  private final int max;

  // Written under this lock. No lock of a pool is acquired under this lock.
  private final Map<String, ApplicationThreadShare> shares = new HashMap<>(); // by application
  private volatile int each; // share of one application, reserved for it
  private volatile int taken; // platform threads that have not ended
  private final LongAdder refused = new LongAdder();
  private final AtomicLong lacking = new AtomicLong(); // threads that must end after their task
  private final Set<HandlerPool> pools = ConcurrentHashMap.newKeySet();
  private final @Nullable ExecutorService probes = VirtualHandlers.newExecutor();
  private final Set<ExecutorService> virtual = ConcurrentHashMap.newKeySet();
  // virtual threads, with their replica
  private final Map<Thread, String> running = new ConcurrentHashMap<>();

  /**
   * @param maxThreads maximum of platform threads
   * @param idleMillis idle time after which a platform thread ends; {@link #IDLE_MILLIS} in a
   *     server
   */
  public InstanceHandlerThreads(int maxThreads, long idleMillis) {
    this.idleMillis = idleMillis;
    max = maxThreads;
  }

  /** Platform threads of one application that have not ended. */
  static final class ApplicationThreadShare {
    private volatile int threads;
  }

  @Override
  public synchronized HandlerThreads create(
      String application, String replicaId, int maxOngoing, boolean virtualThreads) {
    ExecutorService executor = virtualThreads ? VirtualHandlers.newExecutor() : null;
    if (executor != null) {
      virtual.add(executor);
      return new VirtualHandlers(replicaId, executor, running);
    }
    if (virtualThreads) {
      LOG.warn("replica {}: threads: virtual: platform (expected: JDK 21 or later)", replicaId);
    }
    ApplicationThreadShare share =
        shares.computeIfAbsent(application, none -> new ApplicationThreadShare());
    HandlerPool pool = new HandlerPool(this, share, replicaId, maxOngoing);
    pools.add(pool);
    divide();
    return pool;
  }

  synchronized void forget(HandlerPool pool) {
    pools.remove(pool);
    divide();
  }

  private void divide() {
    shares
        .values()
        .removeIf(of -> of.threads == 0 && pools.stream().noneMatch(pool -> pool.share == of));
    each = Math.max(1, max / 2 / Math.max(1, shares.size()));
  }

  // --- the limit ---

  /**
   * Acquires the right to one thread. An application obtains its share even if others hold all
   * threads.
   */
  void take(ApplicationThreadShare share) {
    if (!tryTake(share)) {
      // else many new applications would far exceed the limit
      int most = taken < max + max / 2 ? each : 1;
      if (!endIdle(share) && share.threads >= most) {
        refused.increment();
        throw new RejectedExecutionException(
            "max_handler_threads: %s (expected: an idle thread)".formatted(max));
      }
      give(share, -1); // the thread that ends releases its own
    }
  }

  /** Acquires a thread unless that would use the unused share of another application. */
  private synchronized boolean tryTake(ApplicationThreadShare share) {
    int kept = -Math.max(0, each - share.threads);
    for (ApplicationThreadShare any : shares.values()) {
      kept += Math.max(0, each - any.threads);
    }
    if (taken + kept >= max) {
      return false;
    }
    give(share, -1);
    return true;
  }

  /** Releases the rights of threads that ended or were not needed. */
  synchronized void give(ApplicationThreadShare share, int threads) {
    taken -= threads;
    share.threads -= threads;
    if (share.threads == 0) {
      divide();
    }
  }

  /**
   * Handles a failed start of a thread: busy threads end after their task, which frees threads of
   * the operating system for other pools too.
   */
  void notStarted(ApplicationThreadShare share) {
    give(share, 1);
    refused.increment();
    lacking.set(taken);
    endIdle(share);
  }

  /** Returns whether a thread must end after its task. */
  boolean lacksThreads(ApplicationThreadShare share) {
    return taken > max && share.threads > each
        || lacking.get() > 0 && lacking.getAndDecrement() > 0;
  }

  private boolean endIdle(ApplicationThreadShare wanting) {
    return pools.stream()
        .filter(pool -> pool.share == wanting || pool.share.threads > each)
        .anyMatch(HandlerPool::endIdle);
  }

  public void show(MetricSeries into) {
    into.gauge("berth_handler_threads", taken, max);
    into.counter("berth_handler_threads_refused", refused.sum());
  }

  // --- virtual threads ---

  /** Returns whether handlers run, or may run, on virtual threads. */
  public boolean anyVirtual() {
    virtual.removeIf(ExecutorService::isTerminated);
    return !virtual.isEmpty();
  }

  /** Runs a task on a virtual thread, which waits for a carrier as handlers do. */
  public void probe(Runnable task) {
    Objects.requireNonNull(probes).execute(task);
  }

  /** Returns a description of one call that occupies a carrier, for operators. */
  public String onCarrier(Function<StackTraceElement[], String> text) {
    for (Map.Entry<Thread, String> call : running.entrySet()) {
      StackTraceElement[] stack = call.getKey().getStackTrace();
      if (call.getKey().getState() == Thread.State.RUNNABLE
          && stack.length > 0
          // a thread that waits for a carrier
          && !stack[0].getClassName().startsWith("java.lang.VirtualThread")) {
        return "replica " + call.getValue() + " " + text.apply(stack);
      }
    }
    return "no handler";
  }
}

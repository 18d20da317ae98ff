package dev.berth.replica.threads;

import dev.berth.metrics.Series;
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
 * The threads of all blocking handlers of an instance, within {@code
 * berth.limits.max_handler_threads}. At the limit an idle thread of another replica ends for one
 * that is wanted. Half of the limit is shared out evenly among the applications; the other half
 * goes to the first. An application that comes while others hold all gets its share beyond the
 * limit, and their threads end once they are through. Thread-safe.
 */
public final class InstanceHandlerThreads implements HandlerThreads.Factory {
  private static final Logger LOG = LoggerFactory.getLogger(InstanceHandlerThreads.class);

  /** Time without a task after which a platform thread ends, in milliseconds. */
  public static final long IDLE_MILLIS = 30_000;

  final long idleMillis;
  private final int max;

  // Written under this, under which no pool's lock is taken.
  private final Map<String, Share> shares = new HashMap<>(); // by application
  private volatile int each; // threads that no other application may take from one
  private volatile int taken; // platform threads that have not ended
  private final LongAdder refused = new LongAdder();
  private final AtomicLong lacking = new AtomicLong(); // threads that end once they are through
  private final Set<HandlerPool> pools = ConcurrentHashMap.newKeySet();
  private final @Nullable ExecutorService probes = VirtualHandlers.newExecutor();
  private final Set<ExecutorService> virtual = ConcurrentHashMap.newKeySet();
  private final Map<Thread, String> running = new ConcurrentHashMap<>(); // virtual ones

  /**
   * @param maxThreads platform threads
   * @param idleMillis {@link #IDLE_MILLIS} in a server
   */
  public InstanceHandlerThreads(int maxThreads, long idleMillis) {
    this.idleMillis = idleMillis;
    max = maxThreads;
  }

  /** Platform threads of one application that have not ended. */
  static final class Share {
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
    Share share = shares.computeIfAbsent(application, none -> new Share());
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

  /** Takes the right to one thread: an application gets its share though others hold all. */
  void take(Share share) {
    if (!tryTake(share)) {
      int most = taken < max + max / 2 ? each : 1; // else many newcomers add up to far more
      if (!endIdle(share) && share.threads >= most) {
        refused.increment();
        throw new RejectedExecutionException(
            "max_handler_threads: %s (expected: one that is idle)".formatted(max));
      }
      give(share, -1); // the thread that ends gives its own
    }
  }

  /** Leaves what others have not taken of their shares. */
  private synchronized boolean tryTake(Share share) {
    int kept = -Math.max(0, each - share.threads);
    for (Share any : shares.values()) {
      kept += Math.max(0, each - any.threads);
    }
    if (taken + kept >= max) {
      return false;
    }
    give(share, -1);
    return true;
  }

  /** Threads end, or were not needed. */
  synchronized void give(Share share, int threads) {
    taken -= threads;
    share.threads -= threads;
    if (share.threads == 0) {
      divide();
    }
  }

  /** The operating system gave no thread: those that are through make room, for others too. */
  void notStarted(Share share) {
    give(share, 1);
    refused.increment();
    lacking.set(taken);
    endIdle(share);
  }

  /** Whether a thread that is through is to end at once. */
  boolean lacksThreads(Share share) {
    return taken > max && share.threads > each
        || lacking.get() > 0 && lacking.getAndDecrement() > 0;
  }

  private boolean endIdle(Share wanting) {
    return pools.stream()
        .filter(pool -> pool.share == wanting || pool.share.threads > each)
        .anyMatch(HandlerPool::endIdle);
  }

  public void show(Series into) {
    into.gauge("berth_handler_threads", taken, max);
    into.counter("berth_handler_threads_refused", refused.sum());
  }

  // --- virtual threads ---

  /** Whether handlers run on virtual threads, or may. */
  public boolean anyVirtual() {
    virtual.removeIf(ExecutorService::isTerminated);
    return !virtual.isEmpty();
  }

  /** Runs a task on a virtual thread, which waits for a carrier as handlers do. */
  public void probe(Runnable task) {
    Objects.requireNonNull(probes).execute(task);
  }

  /** A call that has a carrier, for people. */
  public String onCarrier(Function<StackTraceElement[], String> text) {
    for (Map.Entry<Thread, String> call : running.entrySet()) {
      StackTraceElement[] stack = call.getKey().getStackTrace();
      if (call.getKey().getState() == Thread.State.RUNNABLE
          && stack.length > 0
          && !stack[0].getClassName().startsWith("java.lang.VirtualThread")) { // waits for one
        return "replica " + call.getValue() + " " + text.apply(stack);
      }
    }
    return "no handler";
  }
}

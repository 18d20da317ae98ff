package dev.berth.replica.threads;

import dev.berth.metrics.Series;
import dev.berth.protocol.Bound;
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
 * that is wanted. Thread-safe.
 */
public final class InstanceHandlerThreads implements HandlerThreads.Factory {
  private static final Logger LOG = LoggerFactory.getLogger(InstanceHandlerThreads.class);

  /** Time without a task after which a platform thread ends, in milliseconds. */
  public static final long IDLE_MILLIS = 30_000;

  final long idleMillis;
  private final Bound threads; // platform threads that have not ended
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
    threads = new Bound(maxThreads);
  }

  @Override
  public HandlerThreads create(String replicaId, int maxOngoing, boolean virtualThreads) {
    ExecutorService executor = virtualThreads ? VirtualHandlers.newExecutor() : null;
    if (executor != null) {
      virtual.add(executor);
      return new VirtualHandlers(replicaId, executor, running);
    }
    if (virtualThreads) {
      LOG.warn("replica {}: threads: virtual: platform (expected: JDK 21 or later)", replicaId);
    }
    HandlerPool pool = new HandlerPool(this, replicaId, maxOngoing);
    pools.add(pool);
    return pool;
  }

  void forget(HandlerPool pool) {
    pools.remove(pool);
  }

  // --- the limit ---

  /** Takes the right to one thread. */
  void take() {
    if (!threads.tryTake(1)) {
      if (!endIdle()) {
        refused.increment();
        throw new RejectedExecutionException(
            "max_handler_threads: %s (expected: one that is idle)".formatted(threads.most()));
      }
      threads.take(1); // the other one gives its own as it ends
    }
  }

  /** A thread ends, or was not needed. */
  void give() {
    threads.give(1);
  }

  /** The operating system gave no thread: those that are through make room, for others too. */
  void notStarted() {
    give();
    refused.increment();
    lacking.set(threads.taken());
    endIdle();
  }

  /** Whether a thread that is through is to end at once. */
  boolean lacksThreads() {
    return lacking.get() > 0 && lacking.getAndDecrement() > 0;
  }

  private boolean endIdle() {
    return pools.stream().anyMatch(HandlerPool::endIdle);
  }

  public void show(Series into) {
    into.gauge("berth_handler_threads", threads.taken(), threads.most());
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

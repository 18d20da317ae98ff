package dev.berth.node.loops;

import dev.berth.metrics.MetricSeries;
import dev.berth.node.loops.FairHookScheduler.ScheduledHook;
import dev.berth.replica.hooks.DaemonThread;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.replica.log.RequestLogFields;
import dev.berth.replica.log.StackText;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/**
 * Thread-safe pools of an instance: threads where user code may block, and threads for operators'
 * commands. Threads start on demand and end when idle. {@link FairHookScheduler} selects the next
 * hook.
 */
public final class InstanceThreads implements HookThreads {
  private static final Logger LOG = LoggerFactory.getLogger(InstanceThreads.class);
  private static final int IDLE_SECONDS = 10;

  private final LongSupplier nanoClock;
  private final FairHookScheduler shares = new FairHookScheduler(); // guarded by this
  private final AtomicInteger made = new AtomicInteger();
  private boolean wanting; // a hook found no thread; guarded by this

  // FairHookScheduler limits the number of threads.
  private final ThreadPoolExecutor hooks =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          IDLE_SECONDS,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          HookThread::new);

  // The callers limit the queue.
  private final ThreadPoolExecutor commands =
      new ThreadPoolExecutor(
          2,
          2,
          IDLE_SECONDS,
          TimeUnit.SECONDS,
          new LinkedBlockingQueue<>(),
          task -> new DaemonThread(task, "berth-commands"));

  /**
   * @param nanoClock monotonic nanoseconds
   */
  public InstanceThreads(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
    commands.allowCoreThreadTimeOut(true);
  }

  /** Thread that records the time of an interrupt: callers abandon a hook by an interrupt. */
  private final class HookThread extends DaemonThread {
    private @Nullable ScheduledHook hook; // the running hook; guarded by the outer object

    HookThread(Runnable task) {
      super(task, "berth-hook");
    }

    @Override
    public void interrupt() {
      if (Thread.currentThread() != this) { // a hook that interrupts itself is not abandoned
        synchronized (InstanceThreads.this) {
          if (hook != null) {
            shares.markInterrupted(hook, nanoClock.getAsLong());
          }
        }
      }
      super.interrupt();
    }
  }

  // --- hooks ---

  @Override
  public Runnable run(String application, HookKind kind, Runnable task) {
    ScheduledHook hook;
    synchronized (this) {
      hook = hooks.isShutdown() ? null : shares.add(application, kind, task);
    }
    if (hook == null) {
      throw new RejectedExecutionException(
          ("%s of application %s: no thread (expected: a running instance, and at most %s waiting)")
              .formatted(name(kind), application, FairHookScheduler.MAX_WAITING));
    }
    begin();
    return () -> {
      synchronized (this) {
        shares.remove(hook);
      }
    };
  }

  @Override
  public synchronized String blockedReason(String application) {
    return shares.heldFor(application);
  }

  /** Starts all hooks that may begin, each on its own thread. */
  private void begin() {
    for (ScheduledHook next = next(); next != null; next = next()) {
      ScheduledHook hook = next;
      try {
        hooks.execute(() -> work(hook));
      } catch (RejectedExecutionException | OutOfMemoryError noThread) {
        putBack(hook, noThread);
        return;
      }
    }
    synchronized (this) {
      wanting = false;
    }
  }

  /** Returns a hook to its queue; {@link #look} tries again. */
  private synchronized void putBack(ScheduledHook hook, Throwable noThread) {
    shares.putBack(hook);
    if (!wanting) {
      wanting = true;
      LOG.warn("{} of {} is waiting for a thread", name(hook.kind), hook.application(), noThread);
    }
  }

  private synchronized @Nullable ScheduledHook next() {
    return hooks.isShutdown() ? null : shares.next();
  }

  /** Runs one hook on a thread, then the hooks that may begin after its end. */
  private void work(ScheduledHook first) {
    HookThread thread = (HookThread) Thread.currentThread();
    for (ScheduledHook hook = first; hook != null; ) {
      thread.setName(
          "berth-" + name(hook.kind) + "-" + hook.application() + "-" + made.incrementAndGet());
      hook.thread = thread;
      synchronized (this) {
        thread.hook = hook;
      }
      MDC.put(RequestLogFields.APPLICATION, hook.application());
      try {
        hook.task.run();
      } catch (Throwable thrown) { // hooks catch user errors: this is a bug
        LOG.error("{} of application {} threw", name(hook.kind), hook.application(), thrown);
      } finally {
        RequestLogFields.endOnThread();
      }
      hook = finishHook(thread, hook);
    }
  }

  private @Nullable ScheduledHook finishHook(HookThread thread, ScheduledHook hook) {
    boolean back;
    ScheduledHook next;
    synchronized (this) {
      thread.hook = null;
      back = shares.onEnded(hook);
      next = next();
    }
    Thread.interrupted(); // an old interrupt must not reach the next hook
    if (back) {
      LOG.info("application {}: a lost thread has returned", hook.application());
      begin(); // several hooks may have waited for the thread
    }
    return next;
  }

  /** Detects lost threads. Returns whether some are about to be lost. Thread-safe. */
  @Override
  public boolean look() {
    List<ScheduledHook> lost;
    boolean toBegin;
    boolean moreSoon;
    synchronized (this) {
      lost = shares.findLost(nanoClock.getAsLong());
      toBegin = wanting || !lost.isEmpty();
      moreSoon = wanting || shares.anyGivenUp();
    }
    for (ScheduledHook hook : lost) {
      Thread thread = hook.thread;
      LOG.warn(
          "application {}: a {} hook ignores interrupts: its thread is lost: {}",
          hook.application(),
          name(hook.kind),
          thread == null ? "" : StackText.of(thread.getStackTrace()));
    }
    if (toBegin) {
      begin();
    }
    return moreSoon;
  }

  // --- other threads ---

  /**
   * Returns the executor of operators' commands and node registrations. Its two threads are
   * unaffected by hooks that hang.
   */
  public Executor commands() {
    return commands;
  }

  /** Shows the numbers of hooks and lost threads, with their limits. */
  public synchronized void show(MetricSeries into) {
    for (HookKind kind : HookKind.values()) {
      MetricSeries of = into.with("kind", name(kind));
      of.gauge("berth_hooks_running", shares.running(kind));
      of.gauge("berth_hooks_sharing", shares.sharing(kind), FairHookScheduler.shared(kind));
      of.gauge("berth_hooks_waiting", shares.waiting(kind), FairHookScheduler.MAX_WAITING);
    }
    into.gauge("berth_lost_threads", shares.lost, FairHookScheduler.MAX_LOST);
    into.gauge(
        "berth_lost_threads_one_application",
        shares.mostLost(),
        FairHookScheduler.MAX_LOST_PER_APPLICATION);
  }

  private static String name(HookKind kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }

  /** Rejects further tasks, and interrupts the running ones. */
  public void stop() {
    hooks.shutdownNow();
    commands.shutdownNow();
  }
}

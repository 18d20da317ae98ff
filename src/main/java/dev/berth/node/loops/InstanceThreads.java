package dev.berth.node.loops;

import dev.berth.metrics.Series;
import dev.berth.node.loops.HookShares.Hook;
import dev.berth.replica.StackText;
import dev.berth.replica.hooks.DaemonThread;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.replica.log.WorkFields;
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
 * The threads of an instance on which user code may block, and the one of its operators; made on
 * demand, they end when idle. {@link HookShares} says what runs. Any thread.
 */
public final class InstanceThreads implements HookThreads {
  private static final Logger LOG = LoggerFactory.getLogger(InstanceThreads.class);
  private static final int IDLE_SECONDS = 10;

  private final LongSupplier nanoClock;
  private final HookShares shares = new HookShares(); // under the lock, which is this
  private final AtomicInteger made = new AtomicInteger();
  private boolean wanting; // there was no thread for one of them; under the lock

  // The shares bound how many there are.
  private final ThreadPoolExecutor hooks =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          IDLE_SECONDS,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          HookThread::new);

  // Its queue is bounded by those who ask.
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

  /** Notes when what it runs is interrupted: that is how whoever waits for a hook gives it up. */
  private final class HookThread extends DaemonThread {
    private @Nullable Hook hook; // under the instance's lock, while it runs

    HookThread(Runnable task) {
      super(task, "berth-hook");
    }

    @Override
    public void interrupt() {
      if (Thread.currentThread() != this) { // code that keeps its own interrupt is not given up
        synchronized (InstanceThreads.this) {
          if (hook != null) {
            shares.givenUp(hook, nanoClock.getAsLong());
          }
        }
      }
      super.interrupt();
    }
  }

  // --- hooks ---

  @Override
  public Runnable run(String application, Kind kind, Runnable task) {
    Hook hook;
    synchronized (this) {
      hook = hooks.isShutdown() ? null : shares.add(application, kind, task);
    }
    if (hook == null) {
      throw new RejectedExecutionException(
          ("%s of application %s: no thread (expected: an instance that does not stop, and at most"
                  + " %s that wait)")
              .formatted(name(kind), application, HookShares.MOST_WAITING));
    }
    begin();
    return () -> {
      synchronized (this) {
        shares.remove(hook);
      }
    };
  }

  @Override
  public synchronized String lost(String application) {
    return shares.heldFor(application);
  }

  /** Begins what may begin, each on a thread of its own. */
  private void begin() {
    for (Hook next = next(); next != null; next = next()) {
      Hook hook = next;
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

  /** {@link #look} tries again. */
  private synchronized void putBack(Hook hook, Throwable noThread) {
    shares.putBack(hook);
    if (!wanting) {
      wanting = true;
      LOG.warn("{} of {} waits for a thread", name(hook.kind), hook.application(), noThread);
    }
  }

  private synchronized @Nullable Hook next() {
    return hooks.isShutdown() ? null : shares.next();
  }

  /** What a thread does: one hook, then those that may begin when it has ended. */
  private void work(Hook first) {
    HookThread thread = (HookThread) Thread.currentThread();
    for (Hook hook = first; hook != null; ) {
      thread.setName(
          "berth-" + name(hook.kind) + "-" + hook.application() + "-" + made.incrementAndGet());
      hook.thread = thread;
      synchronized (this) {
        thread.hook = hook;
      }
      MDC.put(WorkFields.APPLICATION, hook.application());
      try {
        hook.task.run();
      } catch (Throwable thrown) { // user code's were caught: it is ours
        LOG.error("{} of application {} threw", name(hook.kind), hook.application(), thrown);
      } finally {
        WorkFields.endOnThread();
      }
      hook = ended(thread, hook);
    }
  }

  private @Nullable Hook ended(HookThread thread, Hook hook) {
    boolean back;
    Hook next;
    synchronized (this) {
      thread.hook = null;
      back = shares.ended(hook);
      next = next();
    }
    Thread.interrupted(); // none of what comes next is meant
    if (back) {
      LOG.info("application {}: a thread that it had lost is back", hook.application());
      begin(); // more than one may have waited for that
    }
    return next;
  }

  /** Finds the threads that are lost. */
  @Override
  public void look() {
    List<Hook> lost;
    boolean toBegin;
    synchronized (this) {
      lost = shares.findLost(nanoClock.getAsLong());
      toBegin = wanting || !lost.isEmpty();
    }
    for (Hook hook : lost) {
      LOG.warn(
          "application {}: a {} hook heeds no interrupt, its thread is lost: {}",
          hook.application(),
          name(hook.kind),
          stackOf(hook.thread));
    }
    if (toBegin) {
      begin();
    }
  }

  private static String stackOf(@Nullable Thread thread) {
    return thread == null ? "" : StackText.of(thread.getStackTrace());
  }

  // --- others ---

  /**
   * Two threads, for the commands of operators and for who is a node: hooks that hang are no bar.
   */
  public Executor commands() {
    return commands;
  }

  /** Shows how many there are, and how many there may be. */
  public synchronized void show(Series into) {
    for (Kind kind : Kind.values()) {
      Series of = into.with("kind", name(kind));
      of.gauge("berth_hooks_running", shares.running(kind));
      of.gauge("berth_hooks_sharing", shares.sharing(kind), HookShares.shared(kind));
      of.gauge("berth_hooks_waiting", shares.waiting(kind), HookShares.MOST_WAITING);
    }
    into.gauge("berth_lost_threads", shares.lost(), HookShares.MOST_LOST);
    into.gauge(
        "berth_lost_threads_one_application",
        shares.mostLost(),
        HookShares.MOST_LOST_OF_APPLICATION);
  }

  private static String name(Kind kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }

  /** No more tasks; those that run are interrupted. */
  public void stop() {
    hooks.shutdownNow();
    commands.shutdownNow();
  }
}

package dev.berth.replica.threads;

import dev.berth.replica.hooks.DaemonThread;
import dev.berth.replica.threads.InstanceHandlerThreads.ApplicationThreadShare;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Platform threads of one replica: daemons named {@code berth-<replicaId>-<n>}. A thread is started
 * when none is idle, up to the highest {@code maxOngoing} so far. The thread that became idle last
 * is used first, so that the others end.
 *
 * <p>Not a {@code ThreadPoolExecutor}, which either starts a thread while others are idle, or may
 * queue a task behind a task that never ends.
 */
final class HandlerPool implements HandlerThreads {
  private static final Logger LOG = LoggerFactory.getLogger(HandlerPool.class);

  private final InstanceHandlerThreads instance;
  final ApplicationThreadShare share;
  private final String replicaId;

  // Guarded by this. No lock of another pool is acquired under this lock.
  private final Set<HandlerWorker> workers = new HashSet<>();
  private final ArrayDeque<HandlerWorker> idle = new ArrayDeque<>(); // parked; the newest first
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>(); // bounded by the slots
  private int waking; // threads removed from idle for a task that have not run yet
  private int max;
  private int made;
  private boolean stopped;

  HandlerPool(
      InstanceHandlerThreads instance,
      ApplicationThreadShare share,
      String replicaId,
      int maxOngoing) {
    this.instance = instance;
    this.share = share;
    this.replicaId = replicaId;
    this.max = maxOngoing;
  }

  @Override
  public void execute(Runnable task) {
    if (hand(task)) {
      return;
    }
    instance.take(share);
    try {
      start(task);
    } catch (RejectedExecutionException stoppedMeanwhile) {
      instance.give(share, 1);
      throw stoppedMeanwhile;
    } catch (Throwable noThread) {
      instance.notStarted(share);
      throw noThread;
    }
  }

  /**
   * Queues a task for the existing threads. Returns false when the caller may start one more thread
   * for the task.
   */
  private boolean hand(Runnable task) {
    HandlerWorker woken;
    synchronized (this) {
      if (stopped) {
        throw new RejectedExecutionException("handler threads: stopped (expected: running)");
      }
      if (tasks.size() >= idle.size() + waking && workers.size() < max) {
        return false;
      }
      tasks.add(task);
      woken = wakeNext();
    }
    wake(woken);
    return true;
  }

  /**
   * Returns the thread to wake for the next task; null when a thread is waking already, which wakes
   * the next itself.
   */
  private @Nullable HandlerWorker wakeNext() {
    HandlerWorker woken = waking > 0 || tasks.isEmpty() ? null : idle.pollFirst();
    if (woken != null) {
      waking++;
      woken.state = HandlerWorker.WAKING;
    }
    return woken;
  }

  private static void wake(@Nullable HandlerWorker worker) {
    if (worker != null) {
      worker.wake.release();
    }
  }

  private synchronized void start(Runnable task) {
    if (hand(task)) { // a task of another loop changed the pool
      instance.give(share, 1);
      return;
    }
    HandlerWorker worker = new HandlerWorker(task, "berth-" + replicaId + "-" + ++made);
    worker.start();
    workers.add(worker);
  }

  /** Ends the thread that has been idle longest. Returns false when no thread is idle. */
  synchronized boolean endIdle() {
    HandlerWorker worker = idle.peekLast();
    boolean ended = worker != null && worker.endIfIdle();
    wake(ended ? worker : null);
    return ended;
  }

  @Override
  public synchronized void resize(int maxOngoing) {
    max = Math.max(max, maxOngoing); // an older lease may still use its slot
  }

  @Override
  public void stop() {
    instance.forget(this);
    synchronized (this) {
      stopped = true;
      tasks.clear();
      workers.forEach(Thread::interrupt);
    }
    while (endIdle()) {
      // The other threads end after their task.
    }
  }

  private final class HandlerWorker extends DaemonThread {
    private static final int BUSY = 0;
    private static final int IDLE = 1;
    private static final int WAKING = 2;
    private static final int ENDED = 3;

    // one permit per change from IDLE by another thread
    private final Semaphore wake = new Semaphore(0);
    private volatile int state; // written under the lock
    private @Nullable Runnable task; // null after the task, for the garbage collector

    HandlerWorker(Runnable first, String name) {
      super(() -> {}, name);
      task = first;
    }

    @Override
    public void run() {
      try {
        for (; task != null; task = next()) {
          Thread.interrupted(); // clears an interrupt of an earlier call
          try {
            task.run();
            // a defect of Berth: failures of user code are caught earlier
          } catch (Throwable thrown) {
            log(thrown);
          }
          task = null;
        }
      } finally {
        instance.give(share, 1);
      }
    }

    private void log(Throwable thrown) {
      try {
        LOG.error("{} threw", getName(), thrown);
      } catch (Throwable noMemory) {
        // A thread that died here would still count as a thread of the pool, and tasks would wait
        // for it.
      }
    }

    /** Returns the next task; null when this thread must end. */
    private @Nullable Runnable next() {
      while (state != ENDED) {
        HandlerWorker woken;
        Runnable next;
        boolean rests;
        synchronized (HandlerPool.this) {
          waking -= state == WAKING ? 1 : 0;
          next = tasks.poll();
          woken = wakeNext();
          rests = next == null && rest();
          state = rests ? IDLE : BUSY;
        }
        wake(woken);
        if (!rests) {
          return next;
        }
        park();
      }
      return null;
    }

    /** Returns whether this thread became idle. Otherwise the thread must end. */
    private boolean rest() {
      if (stopped || instance.lacksThreads(share)) {
        workers.remove(this);
        return false;
      }
      idle.addFirst(this);
      return true;
    }

    /** Waits until this thread is woken or its idle time has passed. */
    private void park() {
      while (true) {
        try {
          if (wake.tryAcquire(instance.idleMillis, TimeUnit.MILLISECONDS) || endIfIdle()) {
            return;
          }
        } catch (InterruptedException meantForAnEarlierCall) {
          // The loop waits again.
        }
      }
    }

    /** Ends this idle thread. Returns false when a task needs the thread. */
    private boolean endIfIdle() {
      synchronized (HandlerPool.this) {
        if (!tasks.isEmpty() || !idle.remove(this)) {
          return false;
        }
        workers.remove(this);
        state = ENDED;
        return true;
      }
    }
  }
}

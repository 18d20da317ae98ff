package dev.berth.replica.threads;

import dev.berth.replica.hooks.DaemonThread;
import dev.berth.replica.threads.InstanceHandlerThreads.Share;
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
 * Platform threads of one replica: daemons named {@code berth-<replicaId>-<n>}, made when none is
 * idle, at most the highest {@code maxOngoing} so far. The thread that became idle last is used
 * first, so that the others end.
 *
 * <p>A {@code ThreadPoolExecutor} either makes a thread while others are idle, or may leave a task
 * behind one that never ends.
 */
final class HandlerPool implements HandlerThreads {
  private static final Logger LOG = LoggerFactory.getLogger(HandlerPool.class);

  private final InstanceHandlerThreads instance;
  final Share share;
  private final String replicaId;

  // Under the lock, which is this. No other pool's lock is taken under it.
  private final Set<Worker> workers = new HashSet<>();
  private final ArrayDeque<Worker> idle = new ArrayDeque<>(); // parked; the newest first
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>(); // slots bound their number
  private int waking; // taken from the idle ones for a task, and not there yet
  private int max;
  private int made;
  private boolean stopped;

  HandlerPool(InstanceHandlerThreads instance, Share share, String replicaId, int maxOngoing) {
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

  /** Leaves a task to the threads that there are; false when one more may be made for it. */
  private boolean hand(Runnable task) {
    Worker woken;
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

  /** The thread to wake for the next task; null when one is on its way, which wakes the next. */
  private @Nullable Worker wakeNext() {
    Worker woken = waking > 0 || tasks.isEmpty() ? null : idle.pollFirst();
    if (woken != null) {
      waking++;
      woken.state = Worker.WAKING;
    }
    return woken;
  }

  private static void wake(@Nullable Worker worker) {
    if (worker != null) {
      worker.wake.release();
    }
  }

  private synchronized void start(Runnable task) {
    if (hand(task)) { // of another loop's request meanwhile
      instance.give(share, 1);
      return;
    }
    Worker worker = new Worker(task, "berth-" + replicaId + "-" + ++made);
    worker.start();
    workers.add(worker);
  }

  /** Ends the thread that has been idle for longest; false when none is. */
  synchronized boolean endIdle() {
    Worker worker = idle.peekLast();
    boolean ended = worker != null && worker.endIfIdle();
    wake(ended ? worker : null);
    return ended;
  }

  @Override
  public synchronized void resize(int maxOngoing) {
    max = Math.max(max, maxOngoing); // a lease of before may use its slot yet
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
      // The others end when they are through.
    }
  }

  private final class Worker extends DaemonThread {
    private static final int BUSY = 0;
    private static final int IDLE = 1;
    private static final int WAKING = 2;
    private static final int ENDED = 3;

    private final Semaphore wake = new Semaphore(0); // one permit for each end of IDLE by others
    private volatile int state; // written under the lock
    private @Nullable Runnable task; // kept no longer than it runs

    Worker(Runnable first, String name) {
      super(() -> {}, name);
      task = first;
    }

    @Override
    public void run() {
      try {
        for (; task != null; task = next()) {
          Thread.interrupted(); // an earlier call was meant
          try {
            task.run();
          } catch (Throwable thrown) { // user code's were caught: it is ours
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
        // A thread that died of it would still count as one of the pool, and tasks wait for it.
      }
    }

    /** The next task; null when it is to end. */
    private @Nullable Runnable next() {
      while (state != ENDED) {
        Worker woken;
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

    /** Whether it is idle from now on; else it ends. */
    private boolean rest() {
      if (stopped || instance.lacksThreads(share)) {
        workers.remove(this);
        return false;
      }
      idle.addFirst(this);
      return true;
    }

    /** Waits until it is woken or has been idle for too long. */
    private void park() {
      while (true) {
        try {
          if (wake.tryAcquire(instance.idleMillis, TimeUnit.MILLISECONDS) || endIfIdle()) {
            return;
          }
        } catch (InterruptedException meantForAnEarlierCall) {
          // It waits again.
        }
      }
    }

    /** False when a task needs it. */
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

package dev.berth.replica.threads;

import dev.berth.replica.hooks.DaemonThread;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Platform threads of one replica: daemons named {@code berth-<replicaId>-<n>}, made when none is
 * idle, at most {@code maxOngoing}. The thread that became idle last is used first, so that the
 * others end.
 *
 * <p>A {@code ThreadPoolExecutor} either makes a thread while others are idle, or may leave a task
 * behind one that never ends.
 */
final class HandlerPool implements HandlerThreads {
  private static final Logger LOG = LoggerFactory.getLogger(HandlerPool.class);
  private static final Runnable END = () -> {}; // the task of a worker that is to end

  private final InstanceHandlerThreads instance;
  private final String replicaId;

  // Under the lock, which is this. No other pool's lock is taken under it.
  private final Set<Worker> workers = new HashSet<>();
  private final ArrayDeque<Worker> idle = new ArrayDeque<>(); // the newest first
  // Tasks of slots that were freed just before their threads came back: slots bound their number.
  private final ArrayDeque<Runnable> waiting = new ArrayDeque<>();
  private int max;
  private int made;
  private boolean stopped;

  HandlerPool(InstanceHandlerThreads instance, String replicaId, int maxOngoing) {
    this.instance = instance;
    this.replicaId = replicaId;
    this.max = maxOngoing;
  }

  @Override
  public void execute(Runnable task) {
    if (hand(task)) {
      return;
    }
    instance.take();
    try {
      start(task);
    } catch (Throwable noThread) {
      instance.notStarted();
      throw noThread;
    }
  }

  /** Hands a task to a thread that there is; false when one more may be made for it. */
  private synchronized boolean hand(Runnable task) {
    if (stopped) {
      throw new RejectedExecutionException("handler threads: stopped (expected: running)");
    }
    Worker worker = idle.pollFirst();
    if (worker != null) {
      worker.tasks.add(task);
    } else if (workers.size() >= max) {
      waiting.add(task);
    } else {
      return false;
    }
    return true;
  }

  private synchronized void start(Runnable task) {
    if (hand(task)) { // of another loop's request meanwhile
      instance.give();
      return;
    }
    Worker worker = new Worker(task, "berth-" + replicaId + "-" + ++made);
    worker.start();
    workers.add(worker);
  }

  /** Ends the thread that has been idle for longest; false when none is. */
  synchronized boolean endIdle() {
    Worker worker = idle.pollLast();
    if (worker != null) {
      workers.remove(worker);
      worker.tasks.add(END);
    }
    return worker != null;
  }

  @Override
  public synchronized void resize(int maxOngoing) {
    max = maxOngoing; // threads beyond it end when they are through
  }

  @Override
  public void stop() {
    instance.forget(this);
    synchronized (this) {
      stopped = true;
      waiting.clear();
      workers.forEach(Thread::interrupt);
    }
    while (endIdle()) {
      // The others end when they are through.
    }
  }

  /** What comes next for a thread that is through; null when it is idle. */
  private synchronized @Nullable Runnable next(Worker worker) {
    Runnable next = waiting.poll();
    if (next == null && (stopped || workers.size() > max || instance.lacksThreads())) {
      workers.remove(worker);
      return END;
    }
    if (next == null) {
      idle.addFirst(worker);
    }
    return next;
  }

  private synchronized boolean idleTooLong(Worker worker) {
    return idle.remove(worker) && workers.remove(worker); // else a task is on its way
  }

  private final class Worker extends DaemonThread {
    final ArrayBlockingQueue<Runnable> tasks = new ArrayBlockingQueue<>(1);

    Worker(Runnable first, String name) {
      super(END, name);
      tasks.add(first);
    }

    @Override
    public void run() {
      for (Runnable task = await(); task != END; task = through()) {
        Thread.interrupted(); // an earlier call was meant
        try {
          task.run();
        } catch (Throwable thrown) { // user code's were caught: it is ours
          LOG.error("{} threw", getName(), thrown);
        }
      }
      instance.give();
    }

    private Runnable through() {
      Runnable next = next(this);
      return next == null ? await() : next;
    }

    private Runnable await() {
      while (true) {
        try {
          Runnable task = tasks.poll(instance.idleMillis, TimeUnit.MILLISECONDS);
          if (task != null || idleTooLong(this)) {
            return task == null ? END : task;
          }
        } catch (InterruptedException late) {
          // an earlier call was meant
        }
      }
    }
  }
}

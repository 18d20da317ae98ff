package dev.berth.testkit;

import io.vertx.core.Context;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The event loops of a test, each a queue of tasks. The caller of {@link #run} runs them, one task
 * at a time. The tasks of one loop run in their order; the seed draws the next loop. Tasks may be
 * added by any thread.
 */
final class TestLoops {
  /** Maximum number of tasks in one run; beyond, the run counts as endless. */
  private static final int MAX_TASKS = 1_000_000;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final ReentrantLock running = new ReentrantLock(); // held while tasks run
  private final List<Loop> loops = new ArrayList<>();
  private final SplittableRandom turns;
  // errors of tasks; confined to the running thread
  private final List<Throwable> uncaught = new ArrayList<>();
  private final ThreadLocal<@Nullable Batch> batches = new ThreadLocal<>();
  private final List<Batch> held = new ArrayList<>(); // batches whose tasks are retained
  private final TestVertx vertx = new TestVertx();
  private boolean woken;
  private boolean closed;
  private volatile @Nullable Loop current;

  TestLoops(SplittableRandom turns) {
    this.turns = turns;
  }

  /** An event loop of the test. */
  final class Loop implements dev.berth.protocol.port.LoopExecutor {
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

    @Override
    public void execute(Runnable task) {
      lock.lock();
      try {
        Batch batch = batches.get();
        if (batch != null && held.contains(batch)) {
          batch.additions.add(() -> add(task));
        } else {
          add(task);
        }
      } finally {
        lock.unlock();
      }
    }

    private void add(Runnable task) {
      if (!closed) {
        tasks.add(task);
        changed.signalAll();
      }
    }

    @Override
    public Context context(String application) {
      return vertx.context();
    }

    @Override
    public boolean isHere() {
      return current == this && running.isHeldByCurrentThread();
    }
  }

  /** Tasks that a thread adds during one piece of work. */
  private static final class Batch {
    final List<Runnable> additions = new ArrayList<>(); // each adds a task to its loop
  }

  /**
   * Runs work on the calling thread, and adds all its tasks together at its end. Added one by one,
   * they would arrive at arbitrary points of the running loops, and runs would differ.
   *
   * @param over called in the same step as the last task: its effect and the end are visible
   *     together
   */
  void addTogether(Runnable work, Runnable over) {
    Batch batch = new Batch();
    lock.lock();
    held.add(batch);
    lock.unlock();
    batches.set(batch);
    try {
      work.run();
    } finally {
      batches.remove();
      lock.lock();
      try {
        deliver(batch);
        over.run();
      } finally {
        lock.unlock();
      }
    }
  }

  private void deliver(Batch batch) {
    if (held.remove(batch)) {
      batch.additions.forEach(Runnable::run);
    }
  }

  /**
   * Adds all retained tasks; further tasks of that work are added at once, since the work waits for
   * them.
   *
   * @return false when no task was retained
   */
  boolean deliverHeld() {
    lock.lock();
    try {
      List<Batch> waiting = held.stream().filter(batch -> !batch.additions.isEmpty()).toList();
      waiting.forEach(this::deliver);
      return !waiting.isEmpty();
    } finally {
      lock.unlock();
    }
  }

  /** Adds a loop, before the first run. */
  Loop add() {
    Loop loop = new Loop();
    loops.add(loop);
    return loop;
  }

  /** Signals a change that is not a task. Thread-safe. */
  void wake() {
    lock.lock();
    try {
      woken = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Runs all tasks, including the tasks that they add.
   *
   * @throws RuntimeException or Error: the error of the first failed task, the others as suppressed
   */
  void run() {
    requireOutside();
    if (!running.tryLock()) {
      throw new IllegalStateException(
          "TestBerth: run by another thread (expected: one thread at a time)");
    }
    try {
      int ran = 0;
      for (Runnable task = next(); task != null; task = next()) {
        if (++ran > MAX_TASKS) {
          throw new AssertionError("tasks: over " + MAX_TASKS + " in one run (expected: an end)");
        }
        runGuarded(task);
      }
    } finally {
      current = null;
      running.unlock();
    }
    throwUncaught();
  }

  /** Rejects a caller that is a task: a task that ran the loops would wait for itself. */
  void requireOutside() {
    if (running.isHeldByCurrentThread()) {
      throw new IllegalStateException(
          "TestBerth: called by a task of its own (expected: by the test; a handler composes"
              + " futures)");
    }
  }

  private @Nullable Runnable next() {
    lock.lock();
    try {
      List<Loop> ready = loops.stream().filter(loop -> !loop.tasks.isEmpty()).toList();
      if (ready.isEmpty()) {
        return null;
      }
      Loop turn = ready.get(ready.size() == 1 ? 0 : turns.nextInt(ready.size()));
      current = turn;
      return turn.tasks.poll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Runs a task and records its error. As on an event loop, an error stops no other task; the test
   * sees it later.
   */
  private void runGuarded(Runnable task) {
    try {
      task.run();
    } catch (Throwable thrown) {
      uncaught.add(thrown);
    }
  }

  private void throwUncaught() {
    if (uncaught.isEmpty()) {
      return;
    }
    Throwable first = uncaught.get(0);
    uncaught.stream().skip(1).filter(each -> each != first).forEach(first::addSuppressed);
    uncaught.clear();
    if (first instanceof Error error) {
      throw error;
    }
    throw first instanceof RuntimeException unchecked
        ? unchecked
        : new IllegalStateException("a task failed", first);
  }

  /** Returns whether no task is queued. Thread-safe. */
  boolean isIdle() {
    lock.lock();
    try {
      return loops.stream().allMatch(loop -> loop.tasks.isEmpty());
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits for a task, or for a {@link #wake}.
   *
   * @return the rest of the time; 0 or less after a timeout
   */
  long awaitChange(long nanos) {
    long left = nanos;
    lock.lock();
    try {
      while (!woken && left > 0 && isIdle()) {
        left = changed.awaitNanos(left);
      }
      woken = false;
      return left;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new AssertionError("TestBerth: interrupted while it waited", interrupted);
    } finally {
      lock.unlock();
    }
  }

  /** Drops all queued tasks, and ignores further ones. */
  void close() {
    lock.lock();
    try {
      closed = true;
      loops.forEach(loop -> loop.tasks.clear());
    } finally {
      lock.unlock();
    }
    vertx.close();
  }
}

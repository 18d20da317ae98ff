package dev.berth.testkit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The event loops of a test: a queue of tasks each, run by whoever calls {@link #run}, one task at
 * a time. The tasks of one loop run in the order they came; whose turn it is the seed draws. Any
 * thread may add tasks.
 */
final class TestLoops {
  /** A run that takes more tasks than this has no end. */
  private static final int MOST_TASKS = 1_000_000;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final ReentrantLock running = new ReentrantLock(); // held by whoever runs tasks
  private final List<Loop> loops = new ArrayList<>();
  private final SplittableRandom turns;
  private final List<Throwable> uncaught = new ArrayList<>(); // of whoever runs
  private final ThreadLocal<@Nullable Batch> batches = new ThreadLocal<>();
  private final List<Batch> held = new ArrayList<>(); // those that keep tasks back
  private boolean woken;
  private boolean closed;
  private volatile @Nullable Loop current;

  TestLoops(SplittableRandom turns) {
    this.turns = turns;
  }

  /** One event loop. */
  final class Loop implements dev.berth.protocol.port.Loop {
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
    public boolean isHere() {
      return current == this && running.isHeldByCurrentThread();
    }
  }

  /** What a thread adds while it runs one piece of work. */
  private static final class Batch {
    final List<Runnable> additions = new ArrayList<>(); // each adds a task to its loop
  }

  /**
   * Runs work of another thread on the caller's, whose tasks are added together when it is done:
   * one by one, they would meet those who run them at any moment, and each run would be another.
   *
   * @param over told with the last of them: whoever sees what the work did sees that it is over
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
   * Adds what is kept back, and from now on what that work adds at once: it waits for its tasks.
   *
   * @return false when there was nothing
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

  /** One more loop; before anything runs. */
  Loop add() {
    Loop loop = new Loop();
    loops.add(loop);
    return loop;
  }

  /** Says that something changed which is no task. Any thread. */
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
   * Runs tasks, those that tasks add included, until none is left.
   *
   * @throws RuntimeException or Error: what the first task that failed threw, the others suppressed
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
        if (++ran > MOST_TASKS) {
          throw new AssertionError("tasks: over " + MOST_TASKS + " in one run (expected: an end)");
        }
        runGuarded(task);
      }
    } finally {
      current = null;
      running.unlock();
    }
    throwUncaught();
  }

  /** A task that drove the loops would wait for itself. */
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

  /** As on an event loop, a task that throws stops no other; but a test must see it. */
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

  /** Whether no task waits. Any thread. */
  boolean isIdle() {
    lock.lock();
    try {
      return loops.stream().allMatch(loop -> loop.tasks.isEmpty());
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until there is a task, or a {@link #wake}.
   *
   * @return what is left of the time; 0 or less when it is over
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

  /** Drops what waits and takes nothing more. */
  void close() {
    lock.lock();
    try {
      closed = true;
      loops.forEach(loop -> loop.tasks.clear());
    } finally {
      lock.unlock();
    }
  }
}

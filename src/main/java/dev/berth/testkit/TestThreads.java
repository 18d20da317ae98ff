package dev.berth.testkit;

import dev.berth.replica.hooks.DaemonThread;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.replica.threads.HandlerThreads;
import dev.berth.replica.threads.InstanceHandlerThreads;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Thread-safe registry of user code on real threads: blocking handlers, which may wait for one
 * another and for the loops, and hooks. Reports the work that has not ended.
 */
final class TestThreads implements HookThreads {
  private static final int MAX_THREADS = 4_096;
  private static final List<String> NOT_USER_CODE =
      List.of("java.", "javax.", "jdk.", "sun.", "io.vertx.", "io.netty.");

  private final TestLoops loops; // woken at the end of each work
  private final InstanceHandlerThreads handlerThreads =
      new InstanceHandlerThreads(MAX_THREADS, InstanceHandlerThreads.IDLE_MILLIS);

  // Guarded by this.
  private final Set<Work> handlers = new LinkedHashSet<>();
  private final ArrayDeque<Work> waitingHooks = new ArrayDeque<>();
  private final Set<Work> hooks = new LinkedHashSet<>(); // running, with a waiting test
  private final Set<Work> abandoned = new LinkedHashSet<>(); // running, without a waiting test
  private int hooksStarted;

  TestThreads(TestLoops loops) {
    this.loops = loops;
  }

  /** A task of user code. */
  private final class Work implements Runnable {
    final String what;
    private final Consumer<Work> task;
    private volatile @Nullable Thread thread; // set while it runs

    Work(String what, Consumer<Work> task) {
      this.what = what;
      this.task = task;
    }

    @Override
    public void run() {
      thread = Thread.currentThread();
      try {
        task.accept(this);
      } finally {
        thread = null;
        over(this); // a second time for hooks, without effect
      }
    }

    void interrupt() {
      Thread running = thread;
      if (running != null) {
        running.interrupt();
      }
    }

    /** Returns the kind of work, with its current line of user code. */
    String describe() {
      Thread running = thread;
      if (running == null) {
        return what + ", about to begin";
      }
      for (StackTraceElement frame : running.getStackTrace()) {
        if (NOT_USER_CODE.stream().noneMatch(frame.getClassName()::startsWith)) {
          return "%s at %s.%s(%s:%s)"
              .formatted(
                  what,
                  frame.getClassName(),
                  frame.getMethodName(),
                  frame.getFileName(),
                  frame.getLineNumber());
        }
      }
      return what;
    }
  }

  private void over(Work work) {
    synchronized (this) {
      handlers.remove(work);
      abandoned.remove(work);
      hooks.remove(work);
    }
    loops.wake();
  }

  // --- blocking handlers ---

  /** Returns the watched threads of one replica's blocking handler, as in the server. */
  HandlerThreads handlerThreads(
      String application, String replicaId, int maxOngoing, boolean virtual) {
    HandlerThreads threads = handlerThreads.create(application, replicaId, maxOngoing, virtual);
    return new HandlerThreads() {
      @Override
      public void execute(Runnable task) {
        Work work = new Work("handler of " + replicaId, self -> task.run());
        synchronized (TestThreads.this) {
          handlers.add(work);
        }
        try {
          threads.execute(work);
        } catch (RuntimeException | OutOfMemoryError refused) {
          over(work);
          throw refused;
        }
      }

      @Override
      public void resize(int max) {
        threads.resize(max);
      }

      @Override
      public void stop() {
        threads.stop();
        synchronized (TestThreads.this) { // queued work never begins
          handlers.removeIf(work -> work.thread == null && work.what.endsWith(" " + replicaId));
        }
        loops.wake();
      }
    };
  }

  // --- hooks ---

  @Override
  public Runnable run(String application, HookKind kind, Runnable task) {
    String what =
        switch (kind) {
          case BUILD -> "build";
          case HEALTH -> "health check";
          default -> "hook";
        };
    synchronized (this) {
      waitingHooks.add(new Work(what, work -> loops.addTogether(task, () -> over(work))));
    }
    loops.wake();
    return () -> {};
  }

  /** Starts the next hook if none runs: one at a time, for the same order in each run. */
  synchronized void beginHook() {
    if (hooks.isEmpty()) {
      overtake();
    }
  }

  /** Starts the next hook beside the running ones, which may wait for its result. */
  synchronized void overtake() {
    Work next = waitingHooks.poll();
    if (next != null) {
      hooks.add(next);
      new DaemonThread(next, "berth-test-hook-" + ++hooksStarted).start();
    }
  }

  /** Ends the wait for the hooks that run now. */
  synchronized void abandonHooks() {
    abandoned.addAll(hooks);
    hooks.clear();
    beginHook();
  }

  /** Interrupts all running work, and drops waiting hooks. */
  synchronized void interrupt() {
    waitingHooks.clear();
    Stream.of(handlers, hooks, abandoned).flatMap(Set::stream).forEach(Work::interrupt);
  }

  // --- state ---

  synchronized boolean hooksRun() {
    return !hooks.isEmpty() || !waitingHooks.isEmpty();
  }

  /** Returns whether no work runs or waits. */
  synchronized boolean isIdle() {
    return handlers.isEmpty() && abandoned.isEmpty() && !hooksRun();
  }

  /** Returns a line for each work that has not ended. */
  synchronized List<String> unfinished() {
    return Stream.of(handlers, hooks, abandoned, waitingHooks)
        .flatMap(Collection::stream)
        .map(Work::describe)
        .toList();
  }
}

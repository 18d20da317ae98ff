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
 * What runs beside the event loops of a test, on real threads: blocking handlers, as they may wait
 * for one another and for the loops, and hooks. Knows what has not ended, and says so. Any thread.
 */
final class TestThreads implements HookThreads {
  private static final int MAX_THREADS = 4_096;
  private static final List<String> NOT_USER_CODE =
      List.of("java.", "javax.", "jdk.", "sun.", "io.vertx.", "io.netty.");

  private final TestLoops loops; // woken whenever something here has ended
  private final InstanceHandlerThreads handlerThreads =
      new InstanceHandlerThreads(MAX_THREADS, InstanceHandlerThreads.IDLE_MILLIS);

  // Guarded by this.
  private final Set<Work> handlers = new LinkedHashSet<>();
  private final ArrayDeque<Work> waitingHooks = new ArrayDeque<>();
  private final Set<Work> hooks = new LinkedHashSet<>(); // running, and waited for
  private final Set<Work> abandoned = new LinkedHashSet<>(); // running, and no longer waited for
  private int hooksStarted;

  TestThreads(TestLoops loops) {
    this.loops = loops;
  }

  /** One task of user code. */
  private final class Work implements Runnable {
    final String what;
    private final Consumer<Work> task;
    private volatile @Nullable Thread thread; // once it runs

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
        over(this); // again, of a hook: it changes nothing
      }
    }

    void interrupt() {
      Thread running = thread;
      if (running != null) {
        running.interrupt();
      }
    }

    /** What it is, and the line of user code it stands at. */
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

  /** The threads of one replica's blocking handler: as in the server, and watched. */
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
        synchronized (TestThreads.this) { // those that had not begun never will
          handlers.removeIf(work -> work.thread == null && work.what.endsWith(" " + replicaId));
        }
        loops.wake();
      }
    };
  }

  // --- hooks ---

  @Override
  public Runnable run(String application, Kind kind, Runnable task) {
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

  /** Begins the next hook, if none runs: one at a time, so that the order is the same each time. */
  synchronized void beginHook() {
    if (hooks.isEmpty()) {
      overtake();
    }
  }

  /** Begins the next hook beside those that run: one of them may wait for what it brings. */
  synchronized void overtake() {
    Work next = waitingHooks.poll();
    if (next != null) {
      hooks.add(next);
      new DaemonThread(next, "berth-test-hook-" + ++hooksStarted).start();
    }
  }

  /** Waits no more for the hooks that run now. */
  synchronized void abandonHooks() {
    abandoned.addAll(hooks);
    hooks.clear();
    beginHook();
  }

  /** Interrupts what still runs. */
  synchronized void interrupt() {
    waitingHooks.clear();
    Stream.of(handlers, hooks, abandoned).flatMap(Set::stream).forEach(Work::interrupt);
  }

  // --- what is seen ---

  synchronized boolean hooksRun() {
    return !hooks.isEmpty() || !waitingHooks.isEmpty();
  }

  /** Whether nothing runs here. */
  synchronized boolean isIdle() {
    return handlers.isEmpty() && abandoned.isEmpty() && !hooksRun();
  }

  /** What has not ended, one line each. */
  synchronized List<String> unfinished() {
    return Stream.of(handlers, hooks, abandoned, waitingHooks)
        .flatMap(Collection::stream)
        .map(Work::describe)
        .toList();
  }
}

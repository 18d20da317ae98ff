package dev.berth.protocol.port;

import java.util.concurrent.Executor;

/**
 * An event loop, as those see it who are confined to it: they assert {@link #isHere} where they are
 * entered. Any thread.
 */
public interface Loop extends Executor {
  /** Runs a task on it, in order, never on the caller's stack. */
  @Override
  void execute(Runnable task);

  /** Whether the caller is on it. */
  boolean isHere();

  /** Runs a task on it: at once when the caller is there already. */
  default void run(Runnable task) {
    if (isHere()) {
      task.run();
    } else {
      execute(task);
    }
  }
}

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
}

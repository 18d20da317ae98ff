package dev.berth.protocol.port;

import dev.berth.api.RequestContext;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * An event loop, as those see it who are confined to it: they assert {@link #isHere} where they are
 * entered. Any thread.
 */
public interface Loop extends Executor {
  /** Runs a task on it, in order, never on the caller's stack. */
  @Override
  void execute(Runnable task);

  /** Runs a task on it, as {@link #execute}, which is work for a request. */
  default void executeFor(RequestContext request, Runnable task) {
    execute(task);
  }

  /**
   * What runs now on behalf of a message is work for a request from here on, and so is what it
   * begins: the log names it. Null is user code outside of any request, which gets a context of its
   * own too. On the loop.
   */
  default void worksFor(@Nullable RequestContext request) {}

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

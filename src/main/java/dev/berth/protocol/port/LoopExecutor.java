package dev.berth.protocol.port;

import dev.berth.api.RequestContext;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.eventbus.EventBus;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * An event loop, for code that is confined to the loop. Such code asserts {@link #isHere} at its
 * entry points. Thread-safe.
 */
public interface LoopExecutor extends Executor {
  /** Runs a task on the loop, in order, never on the caller's stack. */
  @Override
  void execute(Runnable task);

  /** Runs a task on the loop, as {@link #execute}, on behalf of a request. */
  default void executeFor(RequestContext request, Runnable task) {
    execute(task);
  }

  /**
   * Attributes the current task, which handles a message, and all work that it starts to a request,
   * so that log lines name the request. Null attributes the task to user code outside of any
   * request, which also gets a context of its own. Called on the loop.
   */
  default void worksFor(@Nullable RequestContext request) {}

  /**
   * Begins a turn. When many messages wait that the loop has sent to itself, {@link #endTurn} runs
   * them, before the tasks of the loop and not on the sender's stack. Called on the loop.
   *
   * @return whether the caller must end the turn; false within another turn, and without turns
   */
  default boolean beginTurn() {
    return false;
  }

  /** Ends a turn, and runs its messages. Called on the loop. */
  default void endTurn() {}

  /** Returns the event bus for an application, whose consumers run on the loop. */
  default EventBus eventBus(String application) {
    throw new UnsupportedOperationException("event bus: none (expected: a loop of Vert.x)");
  }

  /**
   * Runs work that would block the loop on a thread of an application's pool, one piece after the
   * other. Completes on the loop.
   */
  default <T> Future<T> callBlocking(String application, Callable<T> work) {
    throw new UnsupportedOperationException("threads: none (expected: a loop of Vert.x)");
  }

  /**
   * Returns a context of Vert.x for the user code of an application, whose tasks run on the loop.
   */
  default Context context(String application) {
    throw new UnsupportedOperationException("context: none (expected: a loop of Vert.x)");
  }

  /** Returns whether the caller runs on the loop. */
  boolean isHere();

  /** Runs a task on the loop: immediately when the caller already runs there. */
  default void run(Runnable task) {
    if (isHere()) {
      task.run();
    } else {
      execute(task);
    }
  }
}

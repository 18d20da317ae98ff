package dev.berth.desired;

import dev.berth.protocol.port.LoopExecutor;
import dev.berth.view.CommandRejectedException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A queue of commands that run one at a time. Each command starts on the control loop and may work
 * {@link #offLoop off it}; the next one starts after its result. Confined to the control loop.
 */
public final class CommandQueue {

  /** Maximum number of waiting commands; those of the instance itself do not count. */
  public static final int MAX_COMMANDS = 64;

  /** Maximum number of submitted characters of all waiting commands. */
  static final int MAX_CHARS = 16 << 20;

  private final Executor offLoop;
  private final LoopExecutor control;
  private Future<Void> last = Future.succeededFuture(); // completes with the last command
  volatile int size; // waiting commands, readable by other threads
  private int chars; // of the waiting commands
  private @Nullable String refuses; // reason for refusing all later commands
  private boolean closed;

  /**
   * @param offLoop may block
   * @param control the control loop
   */
  CommandQueue(Executor offLoop, LoopExecutor control) {
    this.offLoop = offLoop;
    this.control = control;
  }

  /**
   * Adds a command of an operator.
   *
   * @param length characters submitted with it
   * @param command started after the previous commands
   * @return the result; fails with {@link CommandRejectedException} when the queue is full
   */
  <T> Future<T> add(int length, Supplier<Future<T>> command) {
    if (refuses != null) {
      return refusal(refuses);
    }
    if (size >= MAX_COMMANDS || chars + length > MAX_CHARS) {
      return refusal(
          "%s commands wait (expected: at most %s, and %s characters of them)"
              .formatted(size, MAX_COMMANDS, MAX_CHARS));
    }
    return addAnyway(length, command);
  }

  /**
   * Adds a command of the instance itself, as {@link #add} without its limits. There is one at a
   * time.
   */
  <T> Future<T> addAnyway(int length, Supplier<Future<T>> command) {
    assert control.isHere();
    if (closed) {
      return stopping();
    }
    Future<Void> before = last;
    Promise<T> answer = Promise.promise();
    Promise<Void> over = Promise.promise();
    last = over.future();
    count(1, length);
    before.onComplete(
        turn -> {
          count(-1, -length);
          begin(command)
              .onComplete(
                  (value, failed) -> {
                    try {
                      answer.complete(value, failed);
                    } finally {
                      over.complete();
                    }
                  });
        });
    return answer.future();
  }

  private void count(int commands, int length) {
    size += commands;
    chars += length;
  }

  /**
   * Adds work off the loop, as {@link #addAnyway}.
   *
   * @param here evaluated on the loop before the work
   * @param begin receives that value before the work, off the loop
   */
  <H, T> Future<T> turn(Supplier<H> here, Consumer<H> begin, Callable<T> work) {
    return addAnyway(
        0,
        () -> {
          H now = here.get();
          return offLoop(
              () -> {
                begin.accept(now);
                return work.call();
              });
        });
  }

  private <T> Future<T> begin(Supplier<Future<T>> command) {
    return closed ? stopping() : Future.succeededFuture().compose(turn -> command.get());
  }

  /** Runs work off the loop; the returned future completes on the loop. */
  <T> Future<T> offLoop(Callable<T> work) {
    Promise<T> done = Promise.promise();
    try {
      offLoop.execute(
          () -> {
            try {
              T value = work.call();
              control.execute(() -> done.complete(value));
            } catch (Throwable failed) { // otherwise the caller and a close would wait forever
              control.execute(() -> done.fail(failed));
            }
          });
    } catch (RejectedExecutionException ended) {
      return stopping();
    }
    return done.future();
  }

  private static <T> Future<T> stopping() {
    return refusal("the instance is stopping (expected: a running instance)");
  }

  private static <T> Future<T> refusal(String why) {
    return Future.failedFuture(CommandRejectedException.unavailable("%s", why));
  }

  /**
   * Refuses all further commands of operators.
   *
   * @param why reason for operators
   */
  void refuse(String why) {
    assert control.isHere();
    refuses = why;
  }

  /** Refuses waiting and later commands; completes when the running one has ended. */
  Future<Void> close() {
    assert control.isHere();
    closed = true;
    return last;
  }
}

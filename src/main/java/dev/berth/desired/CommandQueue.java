package dev.berth.desired;

import dev.berth.protocol.port.Loop;
import dev.berth.view.CommandRefused;
import dev.berth.view.CommandRefused.Kind;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Commands that are carried out one after the other: each begins on the control loop, may go {@link
 * #offLoop off it} and comes back, and the next begins when it is over. Belongs to the control
 * loop.
 */
public final class CommandQueue {

  /** Commands that may wait; those of the instance itself do not count. */
  public static final int MOST_COMMANDS = 64;

  /** Characters of all that is submitted by those that wait. */
  static final int MOST_CHARS = 16 << 20;

  private final Executor offLoop;
  private final Loop control;
  private Future<Void> last = Future.succeededFuture(); // over when the last command is
  private volatile int size; // of those that wait, for others to read
  private int chars; // of those that wait
  private @Nullable String refuses; // why, from then on
  private boolean closed;

  /**
   * @param offLoop may block
   * @param control the control loop
   */
  CommandQueue(Executor offLoop, Loop control) {
    this.offLoop = offLoop;
    this.control = control;
  }

  /**
   * @param length characters of what is submitted with it
   * @param command begins when its turn comes
   */
  <T> Future<T> add(int length, Supplier<Future<T>> command) {
    if (refuses != null) {
      return refused(refuses);
    }
    if (size >= MOST_COMMANDS || chars + length > MOST_CHARS) {
      return refused(
          "%s commands wait (expected: at most %s, and %s characters of them)"
              .formatted(size, MOST_COMMANDS, MOST_CHARS));
    }
    return addAnyway(length, command);
  }

  /** As {@link #add}, one of the instance's own, of which there is one at a time. */
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
   * As {@link #addAnyway}, off the loop.
   *
   * @param here looked at on the loop when its turn comes
   * @param begin is given that before the work
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

  /** Does something off the loop; what comes of it is known on the loop. */
  <T> Future<T> offLoop(Callable<T> work) {
    Promise<T> done = Promise.promise();
    try {
      offLoop.execute(
          () -> {
            try {
              T value = work.call();
              control.execute(() -> done.complete(value));
            } catch (Throwable failed) { // else its caller, and a close, would wait
              control.execute(() -> done.fail(failed));
            }
          });
    } catch (RejectedExecutionException ended) {
      return stopping();
    }
    return done.future();
  }

  private static <T> Future<T> stopping() {
    return refused("the instance is stopping (expected: one that runs)");
  }

  private static <T> Future<T> refused(String why) {
    return Future.failedFuture(new CommandRefused(Kind.UNAVAILABLE, why));
  }

  /** Commands that wait. Any thread. */
  int size() {
    return size;
  }

  /**
   * Takes nothing more of operators.
   *
   * @param why for them
   */
  void refuse(String why) {
    assert control.isHere();
    refuses = why;
  }

  /** Refuses what waits and what comes; completes when what runs has ended. */
  Future<Void> close() {
    assert control.isHere();
    closed = true;
    return last;
  }
}

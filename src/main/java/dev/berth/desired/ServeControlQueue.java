package dev.berth.desired;

import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.CommandRefused.Kind;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Commands that run one after the other, each first off the loop and then on it. Its state belongs
 * to the control loop, where a command may be added and where it ends.
 */
public final class ServeControlQueue {
  private static final Logger LOG = LoggerFactory.getLogger(ServeControlQueue.class);

  /** Commands that may wait; those of the instance itself do not count. */
  public static final int MOST_COMMANDS = 64;

  /** Characters of all that is submitted by those that wait. */
  static final int MOST_CHARS = 16 << 20;

  /** What a command does off the loop, which gives what it does on it. */
  @FunctionalInterface
  interface Work<T> {
    Consumer<Promise<T>> run() throws IOException;
  }

  private record Command<T>(int chars, Supplier<Work<T>> work, Promise<T> done) {}

  private final Executor offLoop;
  private final Executor control;
  private final Queue<Command<?>> waiting = new ArrayDeque<>();
  private volatile int size; // of those that wait, for others to read
  private int chars; // of those that wait
  private boolean running;
  private @Nullable Promise<Void> closed; // once it is asked to

  ServeControlQueue(Executor offLoop, Executor control) {
    this.offLoop = offLoop;
    this.control = control;
  }

  /**
   * @param chars of what is submitted with it
   * @param work made on the control loop when its turn comes
   */
  <T> Future<T> add(int chars, Supplier<Work<T>> work) {
    if (closed != null) {
      return refused("the instance is stopping (expected: one that runs)");
    }
    if (waiting.size() >= MOST_COMMANDS || this.chars + chars > MOST_CHARS) {
      return refused(
          "%s commands wait (expected: at most %s, and %s characters of them)"
              .formatted(waiting.size(), MOST_COMMANDS, MOST_CHARS));
    }
    return addAnyway(chars, work);
  }

  /** One of the instance's own, of which there is one at a time. */
  <T> Future<T> addInternal(Supplier<Work<T>> work) {
    return closed != null ? refused("the instance is stopping") : addAnyway(0, work);
  }

  private static <T> Future<T> refused(String why) {
    return Future.failedFuture(new CommandRefused(Kind.UNAVAILABLE, why));
  }

  /** Commands that wait. Any thread. */
  int size() {
    return size;
  }

  private <T> Future<T> addAnyway(int length, Supplier<Work<T>> work) {
    Command<T> command = new Command<>(length, work, Promise.promise());
    chars += length;
    waiting.add(command);
    size = waiting.size();
    next();
    return command.done().future();
  }

  private void next() {
    Command<?> command = running ? null : waiting.poll();
    size = waiting.size();
    if (command != null) {
      running = true;
      chars -= command.chars();
      start(command);
    } else if (!running && closed != null) {
      closed.tryComplete();
    }
  }

  private <T> void start(Command<T> command) {
    Work<T> work;
    try {
      work = command.work().get();
    } catch (RuntimeException | Error thrown) {
      ended(command, done -> done.fail(thrown));
      return;
    }
    try {
      offLoop.execute(() -> run(command, work));
    } catch (RejectedExecutionException stopping) { // else its caller, and a close, would wait
      ended(
          command,
          done -> done.fail(new CommandRefused(Kind.UNAVAILABLE, "the instance is stopping")));
    }
  }

  private <T> void run(Command<T> command, Work<T> work) {
    Consumer<Promise<T>> end;
    try {
      end = work.run();
    } catch (Throwable failed) {
      end = done -> done.fail(failed);
    }
    Consumer<Promise<T>> last = end;
    control.execute(() -> ended(command, last));
  }

  private <T> void ended(Command<T> command, Consumer<Promise<T>> end) {
    try {
      end.accept(command.done());
      command.done().tryComplete();
    } catch (RuntimeException | Error bug) {
      LOG.error("a command was not carried out to its end", bug);
      command.done().tryFail(bug);
    }
    running = false;
    next();
  }

  /** Refuses what waits, lets what runs end, then runs a last task off the loop. */
  Future<Void> close(Runnable last) {
    if (closed == null) {
      closed = Promise.promise();
      Command<?> command;
      while ((command = waiting.poll()) != null) {
        command.done().fail(new CommandRefused(Kind.UNAVAILABLE, "the instance is stopping"));
      }
      next();
    }
    Promise<Void> ended = Promise.promise();
    closed
        .future()
        .onComplete(
            idle ->
                offLoop.execute(
                    () -> {
                      last.run();
                      ended.complete();
                    }));
    return ended.future();
  }
}

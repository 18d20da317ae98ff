package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.PlaneBuilder;
import dev.berth.view.CommandRejectedException;
import io.vertx.core.Future;
import java.util.ArrayDeque;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

class CommandQueueTest {
  @Test
  void aCommandForWhichThereIsNoThreadAnyMoreIsRefusedAndHoldsUpNothing() {
    CommandQueue queue =
        new CommandQueue(
            task -> {
              throw new RejectedExecutionException("shut down");
            },
            PlaneBuilder.loopOf(Runnable::run, () -> true));
    for (int i = 0; i < 2; i++) {
      Future<Void> command = queue.add(1, () -> queue.offLoop(() -> null));
      assertThat(command.cause()).isInstanceOf(CommandRejectedException.class);
    }
    assertThat(queue.size).isZero();
  }

  @Test
  void thoseThatWaitAreCountedAndBounded() {
    ArrayDeque<Runnable> offLoop = new ArrayDeque<>();
    CommandQueue queue =
        new CommandQueue(offLoop::add, PlaneBuilder.loopOf(Runnable::run, () -> true));
    for (int i = 0; i <= CommandQueue.MAX_COMMANDS; i++) { // one runs, the others wait
      assertThat(queue.<Void>add(1, () -> queue.offLoop(() -> null)).failed()).isFalse();
    }
    assertThat(queue.size).isEqualTo(CommandQueue.MAX_COMMANDS);
    Future<Void> tooMany = queue.add(1, () -> queue.offLoop(() -> null));
    assertThat(tooMany.cause()).isInstanceOf(CommandRejectedException.class);
    while (!offLoop.isEmpty()) {
      offLoop.poll().run();
    }
    assertThat(queue.size).isZero();
  }

  @Test
  void charactersOfEndedCommandsAreReturned() {
    ArrayDeque<Runnable> offLoop = new ArrayDeque<>();
    CommandQueue queue =
        new CommandQueue(offLoop::add, PlaneBuilder.loopOf(Runnable::run, () -> true));
    for (int round = 0; round < 3; round++) {
      Future<Void> runs = queue.add(1, () -> queue.offLoop(() -> null));
      Future<Void> waits = queue.add(CommandQueue.MAX_CHARS, () -> queue.offLoop(() -> null));
      Future<Void> tooLong = queue.add(1, () -> queue.offLoop(() -> null));
      assertThat(runs.failed()).isFalse();
      assertThat(waits.failed()).as("round %d", round).isFalse();
      assertThat(tooLong.cause()).isInstanceOf(CommandRejectedException.class);
      while (!offLoop.isEmpty()) {
        offLoop.poll().run();
      }
      assertThat(waits.succeeded()).isTrue();
    }
  }
}

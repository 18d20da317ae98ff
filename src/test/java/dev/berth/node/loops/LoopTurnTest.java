package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.Vertx;
import io.vertx.core.internal.ContextInternal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class LoopTurnTest {
  private final Vertx vertx = Vertx.vertx();
  private final ContextInternal loop = (ContextInternal) vertx.getOrCreateContext();
  private final LoopTurn turn = new LoopTurn();
  private final List<Long> received = new ArrayList<>(); // confined to the loop

  private final LoopMailbox mailbox =
      new LoopMailbox(loop, turn, message -> received.add(TransportContract.id(message)));

  @AfterEach
  void close() {
    vertx.close().toCompletionStage().toCompletableFuture().join();
  }

  private void put(int messages) {
    IntStream.range(0, messages).forEach(number -> mailbox.put(TransportContract.message(number)));
  }

  /** Runs a step in a task of the loop, and returns its result. */
  private <T> T onLoop(Supplier<T> step) throws Exception {
    CompletableFuture<T> result = new CompletableFuture<>();
    loop.nettyEventLoop().execute(() -> result.complete(step.get()));
    return result.get(10, TimeUnit.SECONDS);
  }

  private List<Long> afterTurn(int messages) throws Exception {
    return onLoop(
        () -> {
          turn.begin();
          put(messages);
          assertThat(received).isEmpty(); // never on the sender's stack
          turn.end();
          return List.copyOf(received);
        });
  }

  private static List<Long> upTo(long messages) {
    return LongStream.range(0, messages).boxed().toList();
  }

  @Test
  void anEndRunsAFullBatchBeforeTheTasks() throws Exception {
    assertThat(afterTurn(LoopTurn.BATCH)).isEqualTo(upTo(LoopTurn.BATCH));
  }

  @Test
  void fewerMessagesWaitForTheTask() throws Exception {
    assertThat(afterTurn(LoopTurn.BATCH - 1)).isEmpty();

    assertThat(onLoop(() -> List.copyOf(received))).isEqualTo(upTo(LoopTurn.BATCH - 1));
  }

  @Test
  void eachMessageRunsOnceAndInOrder() throws Exception {
    int many = 3 * LoopTurn.BATCH + 5;

    assertThat(afterTurn(many)).startsWith(0L, 1L, 2L);

    assertThat(onLoop(() -> List.copyOf(received))).isEqualTo(upTo(many));
  }

  @Test
  void aTurnWithinATurnRunsNothing() throws Exception {
    List<Long> inner =
        onLoop(
            () -> {
              turn.begin();
              assertThat(turn.begin()).isFalse();
              put(LoopTurn.BATCH);
              List<Long> before = List.copyOf(received);
              turn.end();
              return before;
            });

    assertThat(inner).isEmpty();
  }

  @Test
  void aTaskOfMailboxesIsATurnToo() throws Exception {
    List<Integer> open = new ArrayList<>();
    LoopMailbox own = new LoopMailbox(loop, turn, message -> open.add(turn.begin() ? 1 : 0));

    onLoop(
        () -> {
          own.put(TransportContract.message(1));
          return 0;
        });

    assertThat(onLoop(() -> List.copyOf(open))).containsExactly(0);
  }

  @Test
  void mailboxesThatAnswerEachOtherForEverLeaveTimeForTasks() throws Exception {
    LoopMailbox[] pair = new LoopMailbox[2];
    boolean[] ended = new boolean[1];
    for (int own : List.of(0, 1)) {
      pair[own] =
          new LoopMailbox(
              loop,
              turn,
              message -> {
                if (!ended[0]) {
                  pair[1 - own].put(message);
                }
              });
    }

    onLoop(
        () -> {
          turn.begin();
          IntStream.range(0, LoopTurn.BATCH)
              .forEach(number -> pair[0].put(TransportContract.message(number)));
          turn.end();
          return 0;
        });

    assertThat(onLoop(() -> ended[0] = true)).isTrue();
  }
}

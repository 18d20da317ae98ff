package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.internal.ContextInternal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class LoopMailboxTest {
  private static final String ADDRESS = "berth.router.n1.0";

  private final Vertx vertx = Vertx.vertx();
  private final ContextInternal loop = (ContextInternal) vertx.getOrCreateContext();
  private final InstanceBus bus = new InstanceBus("n1");

  @AfterEach
  void close() throws Exception {
    vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  private static BusMessage message(long id) {
    return new CallAccepted(id, 0);
  }

  private static long id(BusMessage message) {
    return ((CallAccepted) message).callId();
  }

  private void receive(Consumer<BusMessage> receiver) {
    bus.receive(ADDRESS, loop, receiver);
  }

  private boolean send(long id) {
    return bus.send("n1", ADDRESS, message(id));
  }

  @Test
  void aMessageOfTheSameLoopArrivesAfterItsSenderHasReturned() throws Exception {
    CompletableFuture<List<String>> steps = new CompletableFuture<>();
    List<String> seen = new ArrayList<>();
    receive(
        message -> {
          seen.add("received");
          steps.complete(seen);
        });

    loop.runOnContext(
        none -> {
          send(1);
          seen.add("sent");
        });

    assertThat(steps.get(10, TimeUnit.SECONDS)).containsExactly("sent", "received");
  }

  @Test
  void messagesOfOneSenderArriveInTheirOrderOnTheLoop() throws Exception {
    int each = 5 * LoopMailbox.MAX_BATCH + 7;
    List<Long> fromHere = new ArrayList<>();
    List<Long> fromThere = new ArrayList<>();
    CountDownLatch left = new CountDownLatch(2 * each);
    receive(
        message -> {
          assertThat(loop.inThread()).isTrue();
          (id(message) < each ? fromHere : fromThere).add(id(message));
          left.countDown();
        });

    loop.runOnContext(
        none -> {
          for (int i = 0; i < each; i++) {
            send(i);
          }
        });
    for (int i = 0; i < each; i++) {
      send(each + i);
    }

    assertThat(left.await(10, TimeUnit.SECONDS)).isTrue();
    assertThat(fromHere).hasSize(each).isSorted();
    assertThat(fromThere).hasSize(each).isSorted();
  }

  @Test
  void noneIsLostWhenManyThreadsSend() throws Exception {
    int threads = 4;
    int each = 20_000;
    CountDownLatch left = new CountDownLatch(threads * each);
    receive(message -> left.countDown());

    for (int i = 0; i < threads; i++) {
      new Thread(
              () -> {
                for (int n = 0; n < each; n++) {
                  send(n);
                }
              })
          .start();
    }

    assertThat(left.await(20, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void whatTheLoopHasToDoElseComesBetweenTwoBatches() throws Exception {
    CompletableFuture<Long> receivedBefore = new CompletableFuture<>();
    long[] received = new long[1];
    receive(message -> received[0]++);

    loop.runOnContext(
        none -> {
          for (int i = 0; i < 3 * LoopMailbox.MAX_BATCH; i++) {
            send(i);
          }
          loop.nettyEventLoop().execute(() -> receivedBefore.complete(received[0]));
        });

    assertThat(receivedBefore.get(10, TimeUnit.SECONDS)).isEqualTo(LoopMailbox.MAX_BATCH);
  }

  @Test
  void aReceiverThatThrowsTakesNoOtherMessageWithIt() throws Exception {
    CompletableFuture<Throwable> reported = new CompletableFuture<>();
    CompletableFuture<Long> second = new CompletableFuture<>();
    loop.exceptionHandler(reported::complete);
    receive(
        message -> {
          if (id(message) == 1) {
            throw new IllegalStateException("broken");
          }
          second.complete(id(message));
        });

    loop.runOnContext(
        none -> {
          send(1);
          send(2);
        });

    assertThat(second.get(10, TimeUnit.SECONDS)).isEqualTo(2);
    assertThat(reported.get(10, TimeUnit.SECONDS)).hasMessage("broken");
  }

  @Test
  void eachMessageHasAContextOfItsOwn() throws Exception {
    List<Context> contexts = new ArrayList<>();
    CountDownLatch left = new CountDownLatch(2);
    receive(
        message -> {
          contexts.add(Vertx.currentContext());
          left.countDown();
        });

    send(1);
    send(2);

    assertThat(left.await(10, TimeUnit.SECONDS)).isTrue();
    assertThat(contexts.get(0)).isNotSameAs(contexts.get(1)).isNotSameAs(loop);
    assertThat(contexts)
        .allSatisfy(context -> assertThat(((ContextInternal) context).unwrap()).isSameAs(loop));
  }

  @Test
  void amongInstancesNothingIsSent() {
    assertThat(bus.send("n2", ADDRESS, message(1))).isFalse();
  }
}

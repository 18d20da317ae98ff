package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
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

/**
 * What {@link BusSender} promises, for each pair of carriers inside an instance and between nodes.
 *
 * <table>
 * <caption>The matrix of {@link Transport}</caption>
 * <tr><th>inside</th><th>alone</th><th>data links</th><th>clustered event bus</th></tr>
 * <tr><td>mailboxes</td><td>{@link MailboxTransportTest}</td><td>{@link LinkTransportIT}</td>
 * <td>not used</td></tr>
 * <tr><td>event bus</td><td>{@link EventBusTransportTest}</td>
 * <td>{@link LinkTransportIT}, to a node without an event bus</td>
 * <td>{@link ClusteredBusTransportIT}</td></tr>
 * </table>
 */
@Timeout(30)
abstract class TransportContract {
  private static final String ADDRESS = "berth.router.n1.0";

  /** More than a mailbox gives its loop at once. */
  private static final int MANY = 5 * LoopMailbox.MAX_BATCH + 7;

  final Vertx vertx;
  final ContextInternal loop;

  TransportContract() {
    this(Vertx.vertx());
  }

  /** Where the instance is. */
  TransportContract(Vertx vertx) {
    this.vertx = vertx;
    this.loop = (ContextInternal) vertx.getOrCreateContext();
  }

  /** Of instance "n1". */
  abstract BusSender sender();

  /** Takes the messages of an address on {@link #loop} from now on. */
  abstract void receive(String address, Consumer<BusMessage> receiver) throws Exception;

  @AfterEach
  void close() throws Exception {
    vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  static BusMessage message(long id) {
    return new CallAccepted(id, 0);
  }

  static long id(BusMessage message) {
    return ((CallAccepted) message).callId();
  }

  final void receive(Consumer<BusMessage> receiver) throws Exception {
    receive(ADDRESS, receiver);
  }

  final SendResult send(long id) {
    return sender().send("n1", ADDRESS, message(id));
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
    int each = MANY;
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
  void aMessageArrivesAsItWasSentOrIsLostAsOneMayBeAndNoneGoesToAnotherInstance() throws Exception {
    BusMessage sent = message(3);
    CompletableFuture<BusMessage> taken = new CompletableFuture<>();
    receive(taken::complete);
    assertThat(sender().send("n2", ADDRESS, message(1))).isEqualTo(SendResult.GONE);
    assertThat(sender().send("n1", "berth.router.n1.7", message(2))).isEqualTo(SendResult.SENT);
    assertThat(sender().send("n1", ADDRESS, sent)).isEqualTo(SendResult.SENT);
    BusMessage arrived = taken.get(10, TimeUnit.SECONDS);
    assertThat(arrived).isEqualTo(sent);
    assertThat(arrived == sent).as("shared").isEqualTo(sender().sharesValues());
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
}

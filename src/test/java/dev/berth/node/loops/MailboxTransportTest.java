package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

final class MailboxTransportTest extends ReplicaOverTransportContract {
  private final InstanceBus bus = new InstanceBus();
  private final BusSender sender = new Transport("n1", bus);

  @Override
  BusSender sender() {
    return sender;
  }

  @Override
  void receive(String address, Consumer<BusMessage> receiver) {
    bus.receive(address, loop, new LoopTurn(), receiver);
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
}

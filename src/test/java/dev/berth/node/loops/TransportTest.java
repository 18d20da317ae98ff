package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which of its two senders a transport uses. */
class TransportTest {
  private static final BusMessage MESSAGE = new CallAccepted(1, 0);

  private final List<String> sent = new ArrayList<>();
  private final BusSender inside = sender("inside", SendResult.SENT);
  private final BusSender between = sender("between", SendResult.NOT_NOW);

  private BusSender sender(String name, SendResult result) {
    return (to, address, message) -> {
      sent.add(name + " " + to + " " + address);
      return result;
    };
  }

  @Test
  void messageGoesBetweenNodesUnlessItsNodeIsTheOwnOne() {
    Transport transport = new Transport("n1~7", inside, between);

    assertThat(transport.send("n1~7", "a", MESSAGE)).isEqualTo(SendResult.SENT);
    assertThat(transport.send("n1~8", "a", MESSAGE)).isEqualTo(SendResult.NOT_NOW);
    assertThat(transport.send("n2~7", "a", MESSAGE)).isEqualTo(SendResult.NOT_NOW);

    assertThat(sent).containsExactly("inside n1~7 a", "between n1~8 a", "between n2~7 a");
  }

  @Test
  void instanceAloneSendsNothingToOthers() {
    Transport transport = new Transport("n1~7", inside);

    assertThat(transport.send("n2~7", "a", MESSAGE)).isEqualTo(SendResult.GONE);
    assertThat(sent).isEmpty();
  }
}

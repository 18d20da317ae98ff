package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Request;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.stream.StreamMemoryBudget;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What requests may be answered with before a credit is together no more than the bound. */
class FirstCreditTest {
  private final RoutingWorld world = new RoutingWorld();

  private void call() {
    world.settled(world.handle().call(Request.get("/")));
  }

  @Test
  void firstCreditAtTheBoundIsZeroUntilAnotherIsAnswered() {
    int most =
        (int) (PlaneBuilder.instanceBounds().streams.boundBytes() / StreamMemoryBudget.FIRST_BYTES);
    RoutingWorld.Replica wide = world.published(world.local("wide", most + 5));
    for (int i = 0; i < most + 1; i++) {
      call();
    }
    List<CallRequest> sent = world.sent(CallRequest.class);
    assertThat(sent.subList(0, most))
        .allMatch(each -> each.streamWindow() == StreamMemoryBudget.FIRST_BYTES);
    assertThat(sent.get(most).streamWindow()).as("at the bound").isZero();
    wide.finish();
    call();
    assertThat(world.sent(CallRequest.class).get(most + 1).streamWindow())
        .as("one was answered")
        .isEqualTo(StreamMemoryBudget.FIRST_BYTES);
    call();
    assertThat(world.sent(CallRequest.class).get(most + 2).streamWindow()).isZero();
    wide.finishAll();
    world.assertAllAtRest();
  }
}

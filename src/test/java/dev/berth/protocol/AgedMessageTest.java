package dev.berth.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Request;
import dev.berth.fakes.RandomMessages;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What a message has left after its way over a link. */
class AgedMessageTest {
  private static final Set<Class<?>> LIMITED =
      Set.of(
          BusMessage.CallRequest.class,
          BusMessage.ReserveSlot.class,
          BusMessage.RenewLease.class,
          BusMessage.AskReservation.class,
          BusMessage.SlotOffer.class);

  private final RandomMessages messages = new RandomMessages(new Random(7));
  private final BusMessage.CallRequest any = RandomMessages.call(Request.get("/"));

  private static BusMessage.ReserveSlot reserve(long acceptMicros) {
    return new BusMessage.ReserveSlot(
        1,
        new RouterAddress("n1", 0),
        new AttemptId(1, 0, 1),
        new ReplicaAddress("n2", 0, 0, 1),
        10_000,
        acceptMicros);
  }

  private BusMessage.CallRequest call(long deadlineMicros, long acceptMicros) {
    return new BusMessage.CallRequest(
        any.callId(),
        any.source(),
        any.attempt(),
        any.target(),
        any.admission(),
        deadlineMicros,
        acceptMicros,
        any.streamWindow(),
        any.waitedMicros(),
        any.requestId(),
        any.methodName(),
        any.sessionId(),
        any.request(),
        any.bodyFollows(),
        any.explained());
  }

  @Test
  void answersCreditsAndCancelsAreTakenHoweverLateTheyCome() {
    for (Class<?> type : RandomMessages.types()) {
      BusMessage message = messages.next(type);
      if (!LIMITED.contains(type)) {
        assertThat(message.aged(Long.MAX_VALUE)).isSameAs(message);
      }
    }
  }

  @Test
  void whatIsLeftIsNeverLessThanNothing() {
    assertThat(reserve(3_000_000).aged(1).acceptMicros()).isEqualTo(2_999_999);
    assertThat(reserve(3_000_000).aged(3_000_001).acceptMicros()).isZero();
    assertThat(reserve(3_000_000).aged(Long.MAX_VALUE).acceptMicros()).isZero();
    assertThat(reserve(Long.MAX_VALUE).aged(Long.MAX_VALUE).acceptMicros()).isZero();
    assertThat(reserve(3_000_000).aged(-5).acceptMicros())
        .as("a clock that lags")
        .isEqualTo(3_000_000);
    assertThat(reserve(BusMessage.NO_LIMIT).aged(Long.MAX_VALUE).acceptMicros()).isEqualTo(-1);
  }

  @Test
  void aCallsDeadlineAgesToo() {
    assertThat(call(1_000, 3_000_000).aged(400)).isEqualTo(call(600, 2_999_600));
    assertThat(call(1_000, 3_000_000).aged(2_000).deadlineMicros()).isZero();
    assertThat(call(-1, 3_000_000).aged(2_000)).isEqualTo(call(-1, 2_998_000));
  }

  @Test
  void nothingElseChanges() {
    for (Class<?> type : LIMITED) {
      BusMessage message = messages.next(type);
      assertThat(message.aged(0)).isEqualTo(message);
    }
  }
}

package dev.berth.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Request;
import dev.berth.fakes.RandomMessages;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.buffer.Buffer;
import java.util.OptionalInt;
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
          BusMessage.SlotOffer.class,
          BusMessage.SlotReserved.class,
          BusMessage.ReservationRenewed.class);

  private final RandomMessages messages = new RandomMessages(new Random(7));
  private final BusMessage.CallRequest any = RandomMessages.call(Request.get("/"));

  private static BusMessage.ReserveSlot reserve(long acceptMicros) {
    return new BusMessage.ReserveSlot(
        1,
        new RouterAddress("n1", 0),
        new AttemptId(1, 0, 1),
        new ReplicaAddress("n2", 0, 0, 1),
        10_000,
        acceptMicros,
        1);
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
        any.explained(),
        any.origin(),
        1);
  }

  private static Buffer wire(BusMessage message) {
    Buffer wire = Buffer.buffer();
    WireCodec.encode(message, wire);
    return wire;
  }

  @SuppressWarnings("unchecked")
  private static <T extends BusMessage> T aged(T message, long micros) {
    return (T) WireCodec.decode(0, wire(message), micros);
  }

  @Test
  void answersCreditsAndCancelsAreTakenHoweverLateTheyCome() {
    for (Class<?> type : RandomMessages.types()) {
      BusMessage message = messages.next(type);
      if (!LIMITED.contains(type)) {
        assertThat(wire(aged(message, Long.MAX_VALUE))).isEqualTo(wire(message));
      }
    }
  }

  @Test
  void whatIsLeftIsNeverLessThanNothing() {
    assertThat(aged(reserve(3_000_000), 1).acceptMicros()).isEqualTo(2_999_999);
    assertThat(aged(reserve(3_000_000), 3_000_001).acceptMicros()).isZero();
    assertThat(aged(reserve(3_000_000), Long.MAX_VALUE).acceptMicros()).isZero();
    assertThat(aged(reserve(Long.MAX_VALUE), Long.MAX_VALUE).acceptMicros()).isZero();
    assertThat(aged(reserve(BusMessage.NO_LIMIT), Long.MAX_VALUE).acceptMicros()).isEqualTo(-1);
  }

  @Test
  void timeToLiveOfALeaseAges() {
    BusMessage.SlotReserved lease =
        new BusMessage.SlotReserved(
            1,
            new AttemptId(1, 0, 1),
            new ReplicaAddress("n2", 0, 0, 1),
            new SlotToken(1, 1, 1),
            10_000_000,
            0,
            1);
    assertThat(aged(lease, 2_000_000).ttlMicros()).isEqualTo(8_000_000);
    assertThat(aged(lease, Long.MAX_VALUE).ttlMicros()).isZero();
    BusMessage.ReservationRenewed renewed =
        new BusMessage.ReservationRenewed(1, "r", "n2", null, OptionalInt.empty(), 10_000_000);
    assertThat(aged(renewed, 2_000_000).ttlMicros()).isEqualTo(8_000_000);
  }

  @Test
  void aCallsDeadlineAgesToo() {
    assertThat(wire(aged(call(1_000, 3_000_000), 400))).isEqualTo(wire(call(600, 2_999_600)));
    assertThat(aged(call(1_000, 3_000_000), 2_000).deadlineMicros()).isZero();
    assertThat(wire(aged(call(-1, 3_000_000), 2_000))).isEqualTo(wire(call(-1, 2_998_000)));
  }
}

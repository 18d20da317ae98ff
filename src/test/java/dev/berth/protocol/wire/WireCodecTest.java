package dev.berth.protocol.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RandomMessages;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.NodeFigures;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.SlotToken;
import io.vertx.core.buffer.Buffer;
import java.lang.reflect.Field;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.assertj.core.api.AbstractThrowableAssert;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WireCodecTest {
  private static final int MESSAGES_PER_TYPE = 100;
  private static final RouterAddress ROUTER = new RouterAddress("n1", 0);
  private static final ReplicaAddress REPLICA = new ReplicaAddress("n2", 1, 7, 42);
  private static final AttemptId ATTEMPT = new AttemptId(5, 0, 9);
  private static final DeploymentId DEPLOYMENT = new DeploymentId("app", "model");
  private static final BusMessage BATCH =
      new BusMessage.HandleMetricBatch(
          "n",
          1,
          1,
          List.of(),
          List.of(),
          List.of(
              new BusMessage.QueueLength(DEPLOYMENT, 5), new BusMessage.QueueLength(DEPLOYMENT, 5)),
          NodeFigures.NONE);
  private static final int FIGURES_BYTES = 3 + 3; // their length, both numbers and no deployment
  private static final int ITEM_BYTES = 3 + 4 + 6 + 1; // its length, both names and the number
  private static final BusMessage ACCEPTED = new BusMessage.CallAccepted(1, LoadReport.NONE);

  private final long seed = Long.getLong("wire.seed", 1);
  private final Random random = new Random(seed);
  private final RandomMessages messages = new RandomMessages(random);

  @Test
  void aMessageOfEveryTypeComesBackAsItWas() throws Exception {
    for (Class<?> type : RandomMessages.types()) {
      for (int i = 0; i < MESSAGES_PER_TYPE; i++) {
        BusMessage message = messages.next(type);
        Buffer wire = encoded(message);

        BusMessage back = WireCodec.decode(0, wire);

        assertThat(contentOf(back)).as(replay(message)).isEqualTo(contentOf(message));
        assertThat(encoded(back)).as(replay(message)).isEqualTo(wire);
      }
    }
  }

  @Test
  void aMessageIsReadWhereItStartsAndTheRestIsLeftAlone() throws Exception {
    BusMessage message = messages.next();
    Buffer wire = Buffer.buffer("before");
    WireCodec.encode(message, wire);
    wire.appendString("after");

    assertThat(contentOf(WireCodec.decode(6, wire)))
        .as(replay(message))
        .isEqualTo(contentOf(message));
  }

  /** Where its header agrees with the cut, the fields themselves meet the end. */
  @ParameterizedTest(name = "header agrees: {0}")
  @ValueSource(booleans = {false, true})
  void aMessageCutAnywhereIsRefused(boolean agrees) {
    messages.unitCost = agrees; // else the cut before the cost is a message of one slot
    for (Class<?> type : RandomMessages.types()) {
      Buffer wire = encoded(messages.next(type));
      for (int length = agrees ? 6 : 0; length < wire.length(); length += step(wire)) {
        Buffer cut = wire.getBuffer(0, length);
        if (agrees) {
          cut.setInt(2, length - 6);
        }
        assertRefused(cut, "%s cut to %d bytes", type.getSimpleName(), length);
      }
    }
  }

  @Test
  void costOfOneTakesNoByteAndOthersAreVarints() {
    Buffer one = encoded(offer(1));
    assertThat(encoded(offer(127)).length()).isEqualTo(one.length() + 1);
    assertThat(encoded(offer(65_535)).length()).isEqualTo(one.length() + 3);
    assertThat(WireCodec.decode(0, encoded(offer(65_535)))).isEqualTo(offer(65_535));
    assertRefused(encoded(offer(65_536)), "a cost").hasMessageStartingWith("cost: 65536 (expected");
    assertRefused(encoded(offer(0)), "a cost").hasMessageStartingWith("cost: 0 (expected");
    assertRefused(encoded(offer(-1)), "a cost").hasMessageStartingWith("cost: -1 (expected");
  }

  private static BusMessage offer(int cost) {
    return new BusMessage.SlotOffer(
        new ReplicaAddress("n", 0, 0, 1),
        new AttemptId(1, 0, 1),
        List.of(new SlotToken(1, 1, 1)),
        5,
        LoadReport.NONE,
        cost);
  }

  @Test
  void corruptBytesAreReadOrRefusedAndNothingElse() {
    for (Class<?> type : RandomMessages.types()) {
      for (int i = 0; i < MESSAGES_PER_TYPE; i++) {
        Buffer wire = encoded(messages.next(type));
        for (int flips = 1 + random.nextInt(4); flips > 0; flips--) {
          wire.setByte(random.nextInt(wire.length()), (byte) random.nextInt());
        }
        try {
          assertThat(WireCodec.decode(0, wire)).isNotNull();
        } catch (WireFormatException refused) {
          assertThat(refused.getMessage()).as("seed %d", seed).isNotEmpty();
        }
      }
    }
  }

  /** Compilers differ in how they list subclasses, and nodes in what compiled them. */
  @Test
  void typesAreNumberedByTheirNames() {
    List<Class<?>> sorted = new ArrayList<>(RandomMessages.types());
    sorted.sort(Comparator.comparing(Class::getName));
    for (Class<?> type : sorted) {
      assertThat(encoded(messages.next(type)).getByte(1) & 0x7f)
          .as(type.getSimpleName())
          .isEqualTo(sorted.indexOf(type) + 1);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0, 99, version: 99 (expected: 22)",
    "1, 99, type: 99 (expected: 1 to ",
    "7, 15, reason: 15 (expected: 0 to 14)"
  })
  void whatIsUnknownIsRefusedByNumber(int place, int number, String said) {
    Buffer wire = encoded(new BusMessage.CallRefused(1, Refusal.FULL, LoadReport.NONE));
    assertRefused(wire.setByte(place, (byte) number), "a wire form").hasMessageStartingWith(said);
  }

  /** Of another version, of a type to come, or with a field that is not understood. */
  @ParameterizedTest
  @CsvSource({"0, 99", "1, -1", "-1, 77"})
  void whoAsksIsToldThatItsMessageWasNotRead(int place, int number) {
    Buffer wire = Buffer.buffer("before");
    WireCodec.encode(RandomMessages.call(Request.get("/echo")), wire);
    wire.setByte(place < 0 ? wire.length() + place : 6 + place, (byte) number);

    assertThatThrownBy(() -> WireCodec.decode(6, wire)).isInstanceOf(WireFormatException.class);
    assertThat(WireCodec.toRefusalReply(6, wire, Refusal.UNREADABLE))
        .isEqualTo(
            new WireCodec.RefusalReply(
                ROUTER, new BusMessage.CallRefused(17, Refusal.UNREADABLE, LoadReport.NONE)));
  }

  /** To these a refusal would be a lie, or nobody waits for it. */
  @Test
  void whoDoesNotAskIsToldNothing() throws Exception {
    Set<String> told = new HashSet<>();
    for (Class<?> type : RandomMessages.types()) {
      if (WireCodec.toRefusalReply(0, encoded(messages.next(type)), Refusal.UNREADABLE) != null) {
        told.add(type.getSimpleName());
      }
    }
    assertThat(told)
        .containsExactlyInAnyOrder("CallRequest", "ReserveSlot", "RenewLease", "AskReservation");
    Buffer cut = encoded(RandomMessages.call(Request.get("/echo"))).getBuffer(0, 8);
    assertThat(WireCodec.toRefusalReply(0, cut, Refusal.TOO_LATE))
        .as("cut before it says who")
        .isNull();
    assertThat(WireCodec.toRefusalReply(0, cut.getBuffer(0, 5), Refusal.TOO_LATE)).isNull();
  }

  /** As a writer of another version may write the batch and its items. */
  private static Buffer batch(Consumer<WireWriter> behindItem, Consumer<WireWriter> behindAll) {
    Buffer wire = encoded(BATCH);
    int figures = wire.length() - FIGURES_BYTES;
    Buffer written = wire.getBuffer(0, figures - 2 * ITEM_BYTES);
    WireWriter out = new WireWriter(written);
    for (int item = 0; item < 2; item++) {
      int start = out.begin();
      out.deployment(DEPLOYMENT);
      behindItem.accept(out);
      out.end(start);
    }
    written.appendBuffer(wire.getBuffer(figures, wire.length()));
    behindAll.accept(out);
    return written.setInt(2, written.length() - 6);
  }

  @Test
  void whatANewerWriterPutBehindTheFieldsIsPassedOver() {
    Consumer<WireWriter> item = out -> out.int32(5);
    assertThat(batch(item, out -> {})).isEqualTo(encoded(BATCH));
    Buffer newer = batch(item.andThen(out -> out.string("more")), out -> out.string("still more"));
    assertThat(WireCodec.decode(0, newer)).isEqualTo(BATCH);
  }

  @Test
  void aFieldThatAnOlderWriterDidNotWriteIsRefusedByName() {
    assertRefused(batch(out -> {}, out -> out.int32(5)), "a wire form")
        .hasMessageStartingWith("queues.queued: 1 bytes, but 0 are left");
  }

  @Test
  void aRecordThatIsLongerThanWhatIsAroundItIsRefused() {
    Buffer wire = encoded(BATCH);
    wire.setMedium(wire.length() - FIGURES_BYTES, FIGURES_BYTES - 2);
    assertRefused(wire, "a wire form").hasMessageStartingWith("figures: ");
  }

  @Test
  void aLengthBeyondTheBoundIsRefusedBeforeAnythingIsAllocated() {
    Buffer wire = encoded(ACCEPTED);
    for (int length : new int[] {WireCodec.MAX_MESSAGE_BYTES, Integer.MAX_VALUE, -1}) {
      wire.setInt(2, length);
      assertRefused(wire, "a wire form")
          .hasMessageStartingWith("length: " + Integer.toUnsignedString(length));
    }
  }

  @Test
  void aCountBeyondTheBytesReceivedIsRefusedBeforeAnythingIsAllocated() {
    Buffer wire =
        encoded(
            new BusMessage.HandleMetricBatch(
                "n", 1, 1, List.of(), List.of(), List.of(), NodeFigures.NONE));
    wire = wire.getBuffer(0, wire.length() - FIGURES_BYTES - 1);
    for (int i = 0; i < 4; i++) {
      wire.appendByte((byte) 0xFF);
    }
    wire.appendByte((byte) 7).setInt(2, wire.length() - 6);
    Buffer lying = wire;

    assertRefused(lying, "a wire form").hasMessageStartingWith("queues: more elements than bytes");
  }

  @Test
  void aBodyOverTheBoundHasNoWireForm() {
    BusMessage message =
        new BusMessage.StreamFrame(
            1, 0, Buffer.buffer(new byte[WireCodec.MAX_BODY_BYTES + 1]), true, LoadReport.NONE);
    assertThatThrownBy(() -> encoded(message))
        .isInstanceOf(WireFormatException.class)
        .hasMessage("body: 65537 bytes (expected: at most 65536)");
  }

  @Test
  void aHeaderWithALineBreakIsRefused() {
    Headers headers = Headers.of("name", "value");
    Buffer wire =
        encoded(
            new BusMessage.CallResponse(
                1,
                Response.of(200, headers, new Response.Body.Whole(Buffer.buffer())),
                0,
                LoadReport.NONE,
                null));
    int value = wire.toString(java.nio.charset.StandardCharsets.ISO_8859_1).indexOf("value");
    wire.setByte(value, (byte) '\n');

    assertRefused(wire, "a wire form").hasMessageContaining("invalid field");
  }

  @Test
  void aTokensSecretCrossesButIsNeverPrinted() {
    long secret = 0x7777_7777_1234_5678L;
    BusMessage message =
        new BusMessage.RenewLease(
            1, ROUTER, ATTEMPT, REPLICA, new SlotToken(42, 3, secret), 10_000, -1);
    Buffer wire = encoded(message);

    BusMessage.RenewLease back = (BusMessage.RenewLease) WireCodec.decode(0, wire);

    assertThat(back.token().secret()).isEqualTo(secret);
    assertThat(back.toString())
        .doesNotContain(Long.toString(secret))
        .doesNotContain(Long.toHexString(secret));
  }

  @Test
  void aSmallRequestHasASmallFrame() {
    assertThat(encoded(RandomMessages.call(Request.get("/echo"))).length()).isLessThan(80);
  }

  private AbstractThrowableAssert<?, ?> assertRefused(Buffer wire, String what, Object... of) {
    return assertThatThrownBy(() -> WireCodec.decode(0, wire))
        .as(what + ", seed " + seed, of)
        .isInstanceOf(WireFormatException.class);
  }

  private static Buffer encoded(BusMessage message) {
    Buffer wire = Buffer.buffer();
    WireCodec.encode(message, wire);
    return wire;
  }

  /** Large bodies make single steps slow, and say nothing new. */
  private static int step(Buffer wire) {
    return Math.max(1, wire.length() / 500);
  }

  private String replay(BusMessage message) {
    return message.getClass().getSimpleName() + ", replay with -Dwire.seed=" + seed;
  }

  /**
   * A value to compare by content: records by component, requests by field, headers by their pairs.
   */
  private static @Nullable Object contentOf(@Nullable Object value) throws Exception {
    if (value instanceof Headers headers) {
      List<String> pairs = new ArrayList<>();
      headers.forEach((name, content) -> pairs.addAll(List.of(name, content)));
      return pairs;
    }
    List<@Nullable Object> parts = new ArrayList<>();
    if (value instanceof Record) {
      parts.add(value.getClass());
      for (RecordComponent part : value.getClass().getRecordComponents()) {
        part.getAccessor().setAccessible(true);
        parts.add(contentOf(part.getAccessor().invoke(value)));
      }
      return parts;
    }
    if (value instanceof Request.Body.Whole body) {
      return body.bytes();
    }
    if (value instanceof Response.Body.Whole body) {
      return body.bytes();
    }
    if (value instanceof Request || value instanceof Response) {
      for (Field part : value.getClass().getDeclaredFields()) { // one that is added counts too
        part.setAccessible(true);
        parts.add(contentOf(part.get(value)));
      }
      return parts;
    }
    return value;
  }
}

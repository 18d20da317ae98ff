package dev.berth.fakes;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.NodeFigures;
import dev.berth.protocol.NotRunReason;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.ReplicaStats;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.RequestOrigin;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.RoutingDelta;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.SlotDemand;
import dev.berth.protocol.SlotToken;
import io.vertx.core.buffer.Buffer;
import java.lang.reflect.Constructor;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Messages of every type with random fields, the edges of their ranges included. */
public final class RandomMessages {
  private final RandomGenerator random;

  /** Whether each request takes one slot, which has no field of its own. */
  public boolean unitCost;

  public RandomMessages(RandomGenerator random) {
    this.random = random;
  }

  /** A request of a router's that runs if a slot is free. */
  public static BusMessage.CallRequest call(Request request) {
    return new BusMessage.CallRequest(
        17,
        new RouterAddress("n1", 0),
        new AttemptId(5, 0, 9),
        new ReplicaAddress("n2", 1, 7, 42),
        Admission.IfFree.IF_FREE,
        -1,
        3_000_000,
        65_536,
        0,
        "request-1",
        "",
        "",
        request,
        false,
        false,
        null,
        1);
  }

  /** Every type of message, as the sealed interfaces list them. */
  public static List<Class<?>> types() {
    return typesOf(BusMessage.class).toList();
  }

  private static Stream<Class<?>> typesOf(Class<?> type) {
    return type.isInterface()
        ? Stream.of(type.getPermittedSubclasses()).flatMap(RandomMessages::typesOf)
        : Stream.of(type);
  }

  /** A message of any type. */
  public BusMessage next() {
    return next(pick(types()));
  }

  /** A message of one type: each component by its name, or else by its type. */
  public BusMessage next(Class<?> type) {
    return (BusMessage) made(type);
  }

  private Object made(Class<?> type) {
    RecordComponent[] parts = type.getRecordComponents();
    Class<?>[] types = Stream.of(parts).map(RecordComponent::getType).toArray(Class<?>[]::new);
    try {
      Constructor<?> canonical = type.getDeclaredConstructor(types);
      return canonical.newInstance(Stream.of(parts).map(this::value).toArray());
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(type.getName(), e);
    }
  }

  private @Nullable Object value(RecordComponent part) {
    return switch (part.getName()) {
      case "load" -> load();
      case "ttlMs", "ttlMicros", "deadlineMicros", "acceptMicros" -> duration();
      case "statusCode" -> pick(List.of(-1, 429, 503));
      case "retryAfterSeconds" -> random.nextInt(100) - 1;
      case "cost" ->
          unitCost ? 1 : pick(List.of(1, 2, 127, 128, random.nextInt(1, 65_536), 65_535));
      case "demand" ->
          unitCost ? 1 : SlotDemand.of(random.nextInt(1, 65_536), pick(List.of(0, 1, 32_767)));
      case "tokens" -> pick(List.of(List.of(token()), List.of(token(), token())));
      case "follows" -> random.nextInt(-1, 1 << 20);
      case "host" -> random.nextBoolean() ? text(40) : null;
      case "digest" -> random.nextLong();
      case "handles", "replicas" -> list(this::report);
      case "figures" -> figures();
      case "queues" -> list(() -> new BusMessage.QueueLength(deployment(), (int) number()));
      case "held" -> list(() -> new BusMessage.PullRouting.Held(deployment(), version()));
      default -> value(part.getType());
    };
  }

  /** A type that this class does not know fails. */
  private @Nullable Object value(Class<?> type) {
    return switch (type.getSimpleName()) {
      case "long" -> number();
      case "int" -> (int) number();
      case "boolean" -> random.nextBoolean();
      case "String" -> text(40);
      case "Buffer" -> body();
      case "RouterAddress" -> router();
      case "ReplicaAddress" -> replica();
      case "AttemptId" -> attempt();
      case "SlotToken" -> token();
      case "Admission" -> admission();
      case "DeploymentId" -> deployment();
      case "OptionalInt" ->
          random.nextBoolean() ? OptionalInt.empty() : OptionalInt.of(random.nextInt(65_536));
      case "Wish" -> pick(List.of(BusMessage.AskReservation.Wish.values()));
      case "Refusal" -> pick(List.of(Refusal.values()));
      case "Kind" -> pick(List.of(BerthException.Kind.values()));
      case "HandlerTime" -> time();
      case "RequestOrigin" ->
          random.nextBoolean()
              ? null
              : new RequestOrigin(text(40), text(8), random.nextBoolean() ? text(60) : null);
      case "NotRunReason" ->
          random.nextBoolean() ? null : new NotRunReason(text(40), random.nextInt(100) - 1);
      case "Headers" -> headers();
      case "RoutingDelta" -> delta();
      case "Request" -> request();
      case "Response" ->
          Response.of(200 + random.nextInt(400), headers(), new Response.Body.Whole(body()));
      default -> throw new IllegalArgumentException("type: " + type + " (expected: a known one)");
    };
  }

  private RoutingDelta delta() {
    DeploymentId deployment = deployment();
    RoutingSnapshot.SnapshotVersion one = version();
    RoutingSnapshot.SnapshotVersion other = version();
    boolean ordered = one.compareTo(other) <= 0;
    return new RoutingDelta(
        deployment,
        ordered ? one : other,
        ordered ? other : one,
        random.nextBoolean(),
        list(() -> route(deployment)),
        list(() -> text(20)));
  }

  private RoutingSnapshot.SnapshotReplica route(DeploymentId deployment) {
    Map<String, String> metadata = new HashMap<>();
    for (int pairs = random.nextInt(4); pairs > 0; pairs--) {
      metadata.put(text(10), text(30));
    }
    return new RoutingSnapshot.SnapshotReplica(
        new ReplicaInfo(
            text(20),
            deployment,
            replica(),
            (int) number(),
            (int) number(),
            random.nextBoolean(),
            random.nextBoolean(),
            random.nextBoolean() ? text(20) : null,
            (OptionalInt) value(OptionalInt.class),
            random.nextBoolean() ? text(10) : null,
            metadata),
        random.nextBoolean());
  }

  private RoutingSnapshot.SnapshotVersion version() {
    return random.nextInt(4) == 0
        ? RoutingSnapshot.SnapshotVersion.NONE
        : new RoutingSnapshot.SnapshotVersion(number(), number());
  }

  private DeploymentId deployment() {
    return new DeploymentId("a" + text(20), "d" + text(20));
  }

  private @Nullable HandlerTime time() {
    return random.nextBoolean()
        ? new HandlerTime(
            number(), number(), new RequestFailure(text(9), text(9), text(99)), place())
        : null;
  }

  private HandlerTime.@Nullable BatchPlace place() {
    return random.nextBoolean()
        ? new HandlerTime.BatchPlace(number(), random.nextInt(), random.nextInt(), number())
        : null;
  }

  private Admission admission() {
    return switch (random.nextInt(4)) {
      case 0 -> Admission.AcquiredSlot.HELD;
      case 1 -> new Admission.Token(token());
      case 2 -> Admission.NoSlot.NO_SLOT;
      default -> Admission.IfFree.IF_FREE;
    };
  }

  private Request request() {
    @Nullable String query = random.nextBoolean() ? text(60) : null;
    return Request.of(text(8), "/" + text(60), query, headers(), body());
  }

  private Headers headers() {
    String[] pairs = new String[2 * random.nextInt(6)];
    for (int i = 0; i < pairs.length; i++) {
      pairs[i] = text(30);
    }
    return Headers.of(pairs);
  }

  private Buffer body() {
    int length =
        switch (random.nextInt(8)) {
          case 0 -> 0;
          case 1 -> 64 * 1024;
          default -> random.nextInt(300);
        };
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return Buffer.buffer(bytes);
  }

  private NodeFigures figures() {
    return new NodeFigures(
        number(),
        number(),
        upTo(
            3,
            () ->
                new NodeFigures.DeploymentFigures(
                    deployment(),
                    number(),
                    number(),
                    upTo(3, () -> new NodeFigures.LatencyCount(random.nextInt(20), number())),
                    random.nextInt(100),
                    random.nextInt(100),
                    random.nextInt(100),
                    random.nextInt(100))));
  }

  private HandleMetricReport report() {
    return new HandleMetricReport(
        deployment(),
        (int) number(),
        (int) number(),
        (int) number(),
        random.nextDouble() * 1000,
        random.nextDouble() * 1000,
        random.nextBoolean(),
        upTo(3, () -> new ReplicaStats(text(20), upTo(16, this::stat))));
  }

  private ReplicaStats.NamedStat stat() {
    return new ReplicaStats.NamedStat("s" + text(9), random.nextGaussian() * 1000);
  }

  private RouterAddress router() {
    return new RouterAddress(text(20), random.nextInt(64));
  }

  private ReplicaAddress replica() {
    return new ReplicaAddress(text(20), random.nextInt(64), (int) number(), random.nextLong());
  }

  private AttemptId attempt() {
    return new AttemptId(random.nextLong(), random.nextInt(64), number());
  }

  private SlotToken token() {
    return new SlotToken(random.nextLong(), number(), random.nextLong());
  }

  private long load() {
    return random.nextInt(4) == 0
        ? LoadReport.NONE
        : LoadReport.of(random.nextInt(65_536), 1 + random.nextInt(65_535), random.nextInt())
            | random.nextInt(2) * LoadReport.blocked(0);
  }

  private long duration() {
    return random.nextInt(4) == 0 ? -1 : number();
  }

  /** Every length of number is as likely as another. */
  private long number() {
    return random.nextLong() >>> random.nextInt(64);
  }

  /** Letters of one to four bytes; no line breaks, which headers refuse. */
  private String text(int maxLetters) {
    StringBuilder text = new StringBuilder();
    for (int letters = random.nextInt(maxLetters + 1); letters > 0; letters--) {
      text.append(
          switch (random.nextInt(10)) {
            case 0 -> "é";
            case 1 -> "中";
            case 2 -> "😀";
            default -> String.valueOf((char) (' ' + random.nextInt(95)));
          });
    }
    return text.toString();
  }

  private <T> List<T> list(Supplier<T> element) {
    return upTo(19, element);
  }

  private <T> List<T> upTo(int most, Supplier<T> element) {
    List<T> list = new ArrayList<>();
    for (int length = random.nextInt(most + 1); length > 0; length--) {
      list.add(element.get());
    }
    return list;
  }

  private <T> T pick(List<T> values) {
    return values.get(random.nextInt(values.size()));
  }
}

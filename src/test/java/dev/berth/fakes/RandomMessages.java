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
import dev.berth.protocol.Load;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.RoutingDelta;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.SlotToken;
import io.vertx.core.buffer.Buffer;
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

  public RandomMessages(RandomGenerator random) {
    this.random = random;
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

  /** A message of one type; a type that this class does not know fails. */
  public BusMessage next(Class<?> type) {
    return switch (type.getSimpleName()) {
      case "CallRequest" ->
          new BusMessage.CallRequest(
              number(),
              router(),
              attempt(),
              replica(),
              admission(),
              duration(),
              (int) number(),
              number(),
              text(40),
              text(10),
              text(10),
              request(),
              random.nextBoolean(),
              random.nextBoolean());
      case "RequestFrame" ->
          new BusMessage.RequestFrame(
              number(), router(), replica(), (int) number(), body(), random.nextBoolean());
      case "RequestCredit" -> new BusMessage.RequestCredit(number(), number());
      case "CancelCall" ->
          new BusMessage.CancelCall(number(), router(), attempt(), replica(), random.nextBoolean());
      case "StreamCredit" ->
          new BusMessage.StreamCredit(number(), router(), replica(), (int) number());
      case "ReserveSlot" ->
          new BusMessage.ReserveSlot(number(), router(), attempt(), replica(), duration());
      case "ReleaseSlot" -> new BusMessage.ReleaseSlot(router(), attempt(), replica());
      case "RenewLease" ->
          new BusMessage.RenewLease(number(), router(), attempt(), replica(), token(), duration());
      case "CallAccepted" -> new BusMessage.CallAccepted(number(), load());
      case "CallRefused" ->
          new BusMessage.CallRefused(number(), pick(List.of(Refusal.values())), load());
      case "CallResponse" ->
          new BusMessage.CallResponse(
              number(),
              Response.of(200 + random.nextInt(400), headers(), new Response.Body.Whole(body())),
              random.nextInt(-1, 1 << 20),
              load(),
              time());
      case "CallFailed" ->
          new BusMessage.CallFailed(
              number(),
              kind(),
              text(200),
              pick(List.of(-1, 429, 503)),
              random.nextInt(100) - 1,
              load(),
              time());
      case "StreamFrame" ->
          new BusMessage.StreamFrame(
              number(), (int) number(), body(), random.nextBoolean(), load());
      case "StreamReset" -> new BusMessage.StreamReset(number(), kind(), text(200), load());
      case "SlotReserved" ->
          new BusMessage.SlotReserved(number(), attempt(), replica(), token(), duration(), load());
      case "ReplicaLoad" -> new BusMessage.ReplicaLoad(replica(), load());
      case "SlotOffer" ->
          new BusMessage.SlotOffer(replica(), attempt(), token(), duration(), load());
      case "HandleMetricBatch" ->
          new BusMessage.HandleMetricBatch(text(20), number(), number(), list(this::report));
      case "RoutingUpdate" -> new BusMessage.RoutingUpdate(delta());
      case "PullRouting" ->
          new BusMessage.PullRouting(
              text(20),
              number(),
              random.nextBoolean(),
              list(() -> new BusMessage.PullRouting.Held(deployment(), version())));
      case "CheckRouting" -> new BusMessage.CheckRouting(text(20), number(), random.nextLong());
      case "RepullRouting" -> new BusMessage.RepullRouting(number());
      default -> throw new IllegalArgumentException("type: " + type + " (expected: a known one)");
    };
  }

  private RoutingDelta delta() {
    DeploymentId deployment = deployment();
    RoutingSnapshot.Version one = version();
    RoutingSnapshot.Version other = version();
    boolean ordered = one.compareTo(other) <= 0;
    return new RoutingDelta(
        deployment,
        ordered ? one : other,
        ordered ? other : one,
        random.nextBoolean(),
        list(() -> route(deployment)),
        list(() -> text(20)));
  }

  private RoutingSnapshot.Route route(DeploymentId deployment) {
    Map<String, String> metadata = new HashMap<>();
    for (int pairs = random.nextInt(4); pairs > 0; pairs--) {
      metadata.put(text(10), text(30));
    }
    return new RoutingSnapshot.Route(
        new ReplicaInfo(
            text(20),
            deployment,
            replica(),
            (int) number(),
            random.nextBoolean(),
            random.nextBoolean(),
            random.nextBoolean() ? text(20) : null,
            random.nextBoolean() ? OptionalInt.of(random.nextInt(65_536)) : OptionalInt.empty(),
            random.nextBoolean() ? text(10) : null,
            metadata),
        random.nextBoolean());
  }

  private RoutingSnapshot.Version version() {
    return random.nextInt(4) == 0
        ? RoutingSnapshot.Version.NONE
        : new RoutingSnapshot.Version(number(), number());
  }

  private DeploymentId deployment() {
    return new DeploymentId("a" + text(20), "d" + text(20));
  }

  private @Nullable HandlerTime time() {
    return random.nextBoolean()
        ? new HandlerTime(number(), number(), new RequestFailure(text(9), text(9), text(99)))
        : null;
  }

  private Admission admission() {
    return switch (random.nextInt(3)) {
      case 0 -> Admission.Held.HELD;
      case 1 -> new Admission.Token(token());
      default -> new Admission.IfFree(duration());
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

  private HandleMetricReport report() {
    return new HandleMetricReport(
        deployment(),
        (int) number(),
        (int) number(),
        (int) number(),
        random.nextDouble() * 1000,
        number());
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
        ? Load.NONE
        : Load.of(random.nextInt(65_536), 1 + random.nextInt(65_535), random.nextInt());
  }

  private BerthException.Kind kind() {
    return pick(List.of(BerthException.Kind.values()));
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
    List<T> list = new ArrayList<>();
    for (int length = random.nextInt(20); length > 0; length--) {
      list.add(element.get());
    }
    return list;
  }

  private <T> T pick(List<T> values) {
    return values.get(random.nextInt(values.size()));
  }
}

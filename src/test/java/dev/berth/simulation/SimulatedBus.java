package dev.berth.simulation;

import dev.berth.api.Response;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.buffer.Buffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The event bus of all instances. Every message is written by the wire codec and read back, within
 * an instance too, so that a field the codec forgets is missed at once.
 *
 * <p>Within an instance a message surely arrives, in order per pair of loops, and an answer may be
 * larger than a message between instances: its body is then passed by itself. Between instances it
 * may be dropped, doubled, late, overtaken, or refused to the sender, at the rates of the seed.
 */
final class SimulatedBus {
  private static final long NEAR_NANOS = TimeUnit.MICROSECONDS.toNanos(20);
  private static final long FAR_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
  private static final long REORDER_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** The latest a message arrives: what is remembered must be remembered for longer. */
  static final long LATEST_NANOS = TimeUnit.SECONDS.toNanos(3);

  private record Consumption(String address, SimulatedLoop loop, Consumer<BusMessage> consumer) {}

  private record Pair(SimulatedLoop from, String address) {}

  /** What one loop sends to one address. */
  private static final class Line {
    long lastArrivalNanos = -1; // of what keeps its order
    long sent; // numbers messages
    long newestHeard;
  }

  /** How long a message takes, and by which fault. */
  private record Way(long delayNanos, @Nullable Fault fault) {}

  /** By then whoever is to know that a message has no wire form knows it. */
  private static final long TOLD_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** In the id of a call: it stands where a replica has no place for calls. */
  private static final long BEYOND = 1L << 30;

  private final World world;
  private final SplittableRandom random;
  private final Coverage coverage;
  private final Map<String, Consumption> consumers = new HashMap<>();
  private final Set<String> dead = new HashSet<>(); // instances that crashed, and no one noticed
  private final Map<Pair, Line> lines = new HashMap<>();
  private final RecallsSeen recalls;
  private final Map<String, Long> fullUntil = new HashMap<>(); // by instance
  private final Set<String> unfit = new HashSet<>(); // calls whose message had no wire form
  private long unfitNanos = -TOLD_NANOS; // when the last of them was refused
  private FaultRates rates = FaultRates.NONE;
  private boolean spoils;
  private long leaseWayNanos; // the longest of a renewal or its answer between instances
  private int nearInFlight; // within instances
  private @Nullable ToLongFunction<BusMessage> script; // delays in nanoseconds; 0 as drawn

  SimulatedBus(World world, Coverage coverage) {
    this.world = world;
    this.random = world.randomness();
    this.coverage = coverage;
    this.recalls = new RecallsSeen(coverage);
  }

  /** Some requests come too late from now on, or find no place. */
  void spoil() {
    spoils = true;
  }

  /** Delays messages between instances by as many nanoseconds; those of 0 as drawn. */
  void script(ToLongFunction<BusMessage> delays) {
    script = delays;
  }

  void rates(FaultRates newRates) {
    rates = newRates;
  }

  void consume(String address, SimulatedLoop loop, Consumer<BusMessage> consumer) {
    consumers.put(address, new Consumption(address, loop, consumer));
  }

  /** An instance crashed: what is sent to it is lost, until someone notices. */
  void crash(String node) {
    consumers.values().removeIf(consumption -> consumption.loop.node.equals(node));
    dead.add(node);
  }

  /** The instance is known to be gone: what is sent to it is refused. */
  void noticed(String node) {
    dead.remove(node);
  }

  /** What a loop sends through. */
  BusSender from(SimulatedLoop loop) {
    return (node, address, message) -> send(loop, node, address, message);
  }

  /** Messages between loops of one instance that have not arrived. */
  int nearInFlight() {
    return nearInFlight;
  }

  private SendResult send(SimulatedLoop from, String node, String address, BusMessage said) {
    BusMessage message =
        said instanceof BusMessage.CallRefused no
            ? new BusMessage.CallRefused(no.callId() & ~BEYOND, no.reason(), no.load())
            : said;
    if (dead.contains(node)) {
      return SendResult.SENT; // written to a socket whose peer is no more
    }
    Consumption to = consumers.get(address);
    if (to == null) {
      return SendResult.GONE;
    }
    Buffer wire = Buffer.buffer();
    Buffer large = null;
    if (from.node.equals(node)
        && message instanceof BusMessage.CallResponse answer
        && answer.body().length() > WireCodec.MAX_BODY_BYTES) {
      large = answer.body();
      WireCodec.encode(with(answer, Buffer.buffer()), wire);
    } else {
      WireCodec.encode(message, wire);
    }
    Pair pair = new Pair(from, address);
    if (from.node.equals(node)) {
      nearInFlight++;
      deliver(to, wire, inOrder(pair, random.nextLong(NEAR_NANOS)), true, large, () -> {});
      coverage.sent(message, false);
      return SendResult.SENT;
    }
    Phase phase = Phase.of(message);
    if (isFull(from.node) || happens(rates.unsent())) {
      coverage.fault(Fault.UNSENT, phase);
      note("unsent", message, from, address, wire);
      return SendResult.NOT_NOW;
    }
    String call = callOf(message, address);
    world.failIf(unfit.contains(call), () -> message + ": sent again without a wire form");
    if (!call.isEmpty() && happens(rates.unfit())) {
      unfit.add(call);
      unfitNanos = world.elapsedNanos();
      coverage.fault(Fault.UNFIT, phase);
      note("unfit", message, from, address, wire);
      return SendResult.unfit(new IllegalStateException("as drawn"));
    }
    coverage.sent(message, true);
    recalls.sent(address, message);
    note("sent", message, from, address, wire);
    if (happens(rates.drop())) {
      coverage.fault(Fault.DROP, phase);
      world.note("dropped", "");
      return SendResult.SENT; // the sender cannot know
    }
    Line line = line(pair);
    long number = ++line.sent;
    long scripted = script == null ? 0 : script.applyAsLong(message);
    Way way = scripted > 0 ? new Way(scripted, Fault.DELAY) : farWay(pair);
    if (message instanceof BusMessage.RenewLease || message instanceof BusMessage.SlotReserved) {
      leaseWayNanos = Math.max(leaseWayNanos, way.delayNanos);
    }
    deliver(to, wire, way.delayNanos, false, null, () -> arrived(line, number, way, phase));
    if (happens(rates.duplicate())) {
      // A third of them long after, when what they name may be over.
      boolean late = random.nextInt(3) == 0;
      Way second = late ? new Way(random.nextLong(LATEST_NANOS), null) : farWay(pair);
      deliver(
          to,
          wire,
          second.delayNanos,
          false,
          null,
          () -> {
            coverage.fault(Fault.DUPLICATE, phase);
            arrived(line, number, second, phase);
          });
    }
    return SendResult.SENT;
  }

  /** Messages with values of user code, each by its call; empty for all others. */
  private static String callOf(BusMessage message, String address) {
    return message instanceof BusMessage.CallRequest request
        ? request.requestId()
        : message instanceof BusMessage.CallResponse response
            ? address + " " + response.callId()
            : "";
  }

  /** What an instance sends to others is not taken for so long. */
  void fill(String node, long nanos) {
    fullUntil.put(node, world.elapsedNanos() + nanos);
  }

  /** Whether a message was just refused for want of a wire form. */
  boolean isUnfitNow() {
    return world.elapsedNanos() - unfitNanos < TOLD_NANOS;
  }

  /** The longest way of a renewal or of its answer up to now: a lease runs meanwhile. */
  long leaseWayNanos() {
    return leaseWayNanos;
  }

  private boolean isFull(String node) {
    return world.elapsedNanos() < fullUntil.getOrDefault(node, 0L);
  }

  private Line line(Pair pair) {
    return lines.computeIfAbsent(pair, none -> new Line());
  }

  private Way farWay(Pair pair) {
    long delay = 1 + random.nextLong(FAR_NANOS);
    if (happens(rates.delay())) {
      return new Way(
          Math.min(delay + random.nextLong(LATEST_NANOS), LATEST_NANOS), // others overtake it
          Fault.DELAY);
    }
    if (happens(rates.reorder())) {
      return new Way(delay + random.nextLong(REORDER_NANOS), Fault.REORDER);
    }
    return new Way(inOrder(pair, delay), null);
  }

  /** Whoever it was for lives. Out of order is only what a later one has overtaken. */
  private void arrived(Line line, long number, Way way, Phase phase) {
    if (way.fault == Fault.DELAY || way.fault == Fault.REORDER && number < line.newestHeard) {
      coverage.fault(way.fault, phase);
    }
    line.newestHeard = Math.max(line.newestHeard, number);
  }

  /** No earlier than what was sent before by the same loop to the same address. */
  private long inOrder(Pair pair, long delayNanos) {
    long arrival = world.elapsedNanos() + delayNanos;
    Line line = line(pair);
    if (arrival <= line.lastArrivalNanos) {
      arrival = line.lastArrivalNanos + 1;
    }
    line.lastArrivalNanos = arrival;
    return arrival - world.elapsedNanos();
  }

  private static BusMessage.CallResponse with(BusMessage.CallResponse answer, Buffer body) {
    return new BusMessage.CallResponse(
        answer.callId(),
        Response.of(
            answer.response().status(), answer.response().headers(), new Response.Body.Whole(body)),
        answer.follows(),
        answer.load(),
        answer.time());
  }

  private void deliver(
      Consumption to,
      Buffer wire,
      long delayNanos,
      boolean near,
      @Nullable Buffer large,
      Runnable arrived) {
    long sentNanos = world.elapsedNanos();
    world.after(
        delayNanos,
        "arrival",
        () -> {
          if (near) {
            nearInFlight--;
          }
          if (!to.loop.halted()) {
            arrived.run();
          }
          BusMessage decoded = WireCodec.decode(0, wire);
          BusMessage read =
              large == null ? decoded : with((BusMessage.CallResponse) decoded, large);
          BusMessage heard = near || !spoils ? read : spoilt(read);
          if (near) {
            to.loop.execute(() -> to.consumer.accept(heard));
          } else {
            recalls.arrives(to.address, heard);
            to.loop.execute(
                () -> {
                  BusMessage aged = WireCodec.decode(0, wire, microsSince(sentNanos));
                  to.consumer.accept(spoils ? spoilt(aged) : aged);
                });
          }
        });
  }

  /** As a link does: what it lay in the mailbox of its loop counts too. */
  private long microsSince(long nanos) {
    return TimeUnit.NANOSECONDS.toMicros(world.elapsedNanos() - nanos);
  }

  /**
   * Some requests come when their time is over, or find the tables of an instance full. Each that
   * comes twice does so twice.
   */
  private static BusMessage spoilt(BusMessage message) {
    if (!(message instanceof BusMessage.CallRequest call)) {
      return message;
    }
    long mixed = (call.requestId().hashCode() + 31 * call.callId()) * 0x9E3779B97F4A7C15L;
    return switch ((int) (mixed >>> 57)) {
      case 0 -> with(call, call.callId(), 0);
      case 1 -> with(call, call.callId() | BEYOND, call.deadlineMicros());
      default -> message;
    };
  }

  private static BusMessage with(BusMessage.CallRequest call, long id, long deadlineMicros) {
    return new BusMessage.CallRequest(
        id,
        call.source(),
        call.attempt(),
        call.target(),
        call.admission(),
        deadlineMicros,
        call.acceptMicros(),
        call.streamWindow(),
        call.waitedMicros(),
        call.requestId(),
        call.methodName(),
        call.sessionId(),
        call.request(),
        call.bodyFollows(),
        call.explained(),
        call.origin(),
        call.cost());
  }

  private void note(
      String what, BusMessage message, SimulatedLoop from, String address, Buffer wire) {
    world.mix(Arrays.hashCode(wire.getBytes()));
    world.note(what, new Sent(from, address, message));
  }

  /** Written out only for a report. */
  private record Sent(SimulatedLoop from, String address, BusMessage message) {
    @Override
    public String toString() {
      return from + " -> " + address + " " + message;
    }
  }

  private boolean happens(double rate) {
    return random.nextDouble() < rate;
  }
}

import dev.berth.node.loops.LoopVerticle;
import dev.berth.node.loops.Transport;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.SendResult;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.util.function.Consumer;

/**
 * Messages between two loops over one carrier. An exchange is a message and its reply, two hops; a
 * reply starts the next exchange until the slice is over.
 */
final class Exchanges {
  /**
   * The figures of one slice.
   *
   * @param hops messages, replies included
   * @param perSecond hops per second
   * @param cpuMicros CPU time per hop, in microseconds
   * @param compilerShare share of the JIT compilers in all CPU time
   */
  record SliceFigures(long hops, double perSecond, double cpuMicros, double compilerShare) {}

  final Carrier carrier;
  final Letter letter;
  final int inFlight;
  final boolean again;
  private final CarrierNode near;
  private final CarrierNode far;
  private final int farLoop;
  private final Transport nearTransport;
  private final Transport farTransport;
  private final String nearAddress;
  private final String farAddress;
  private final Buffer nearBody = Letter.body();
  private final Buffer farBody = Letter.body();

  private volatile Promise<Long> done = Promise.promise();

  // Confined to the near loop.
  private boolean over;
  private int open;
  private long replies;
  private long begun;

  /**
   * @param nodes the sending node, and the other one
   * @param inFlight exchanges in flight
   * @param again whether the nodes are a second construction of the same
   */
  Exchanges(CarrierNode[] nodes, Carrier carrier, Letter letter, int inFlight, boolean again) {
    this.carrier = carrier;
    this.letter = letter;
    this.inFlight = inFlight;
    this.again = again;
    near = nodes[0];
    far = carrier.crosses ? nodes[1] : near;
    farLoop = carrier.crosses ? 0 : 1;
    nearTransport = near.transport(carrier);
    farTransport = far.transport(carrier);
    nearAddress = BusAddresses.router(near.busName, 0);
    farAddress = BusAddresses.router(far.busName, farLoop);
  }

  String name() {
    return carrier.label + ", " + letter.label + ", " + inFlight + (again ? ", A/A" : "");
  }

  /** Runs one slice. Returns after its last reply. */
  SliceFigures slice(long millis) throws Exception {
    receive(far.loops.get(farLoop), far.inboxes.get(farLoop), this::answer);
    receive(near.loops.get(0), near.inboxes.get(0), this::replied);
    CpuTime before = CpuTime.ofApplication();
    long nanos = CarrierNode.await(near.loops.get(0).call(() -> begin(millis).future()));
    CpuTime after = CpuTime.ofApplication();
    near.check();
    far.check();
    long hops = 2 * replies;
    return new SliceFigures(
        hops,
        hops * 1e9 / nanos,
        after.microsSince(before) / hops,
        after.compilerShareSince(before));
  }

  private static void receive(
      LoopVerticle loop, CarrierNode.Inbox inbox, Consumer<BusMessage> receiver) throws Exception {
    CarrierNode.await(
        loop.call(
            () -> {
              inbox.now = receiver;
              return Future.succeededFuture();
            }));
  }

  private Promise<Long> begin(long millis) {
    done = Promise.promise();
    over = false;
    open = inFlight;
    replies = 0;
    near.loops.get(0).home().setTimer(millis, passed -> over = true);
    begun = System.nanoTime();
    for (int id = 0; id < inFlight; id++) {
      send(nearTransport, far, farAddress, letter.of(id, nearBody));
    }
    return done;
  }

  private void answer(BusMessage message) {
    long id = ((BusMessage.Answer) message).callId();
    send(farTransport, near, nearAddress, letter.of(id, farBody));
  }

  private void replied(BusMessage reply) {
    replies++;
    if (!over) {
      long id = ((BusMessage.Answer) reply).callId();
      send(nearTransport, far, farAddress, letter.of(id, nearBody));
    } else if (--open == 0) {
      if (letter.fits(reply)) {
        done.tryComplete(System.nanoTime() - begun);
      } else {
        done.tryFail(name() + ": " + reply + " (expected: another message)");
      }
    }
  }

  private void send(Transport from, CarrierNode to, String address, BusMessage message) {
    SendResult result = from.send(to.busName, address, message);
    if (!result.isSent()) {
      done.tryFail(new IOException(name() + ": " + result + " (expected: sent)"));
    }
  }

  /**
   * Runs one slice and checks by the counters of the sending node that the carrier is the named
   * one.
   */
  void prove(long millis) throws Exception {
    double linksBefore = near.counter("berth_link_messages_sent_total");
    double busBefore = near.counter("berth_bus_messages_sent_total");
    double sent = slice(millis).hops() / 2.0;
    double links = near.counter("berth_link_messages_sent_total") - linksBefore;
    double bus = near.counter("berth_bus_messages_sent_total") - busBefore;
    if (links != (carrier == Carrier.DATA_LINK ? sent : 0)
        || bus != (carrier == Carrier.CLUSTERED_BUS ? sent : 0)) {
      throw new IllegalStateException(
          "%s: %.0f messages over links, %.0f over the event bus between nodes (sent: %.0f)"
              .formatted(name(), links, bus, sent));
    }
  }
}

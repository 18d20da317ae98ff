package dev.berth.routing;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.port.LoopPorts;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;

/**
 * Calls to other instances that were cancelled: as a cancel may be lost, and the slot there would
 * be kept busy for nobody, it is repeated until the replica's last word of the call, or until that
 * is lost. A call is over for its caller by then, and stands here in its place of the pending
 * table. Bounded; confined to its loop.
 */
final class CancelledCalls {
  private final PendingTable<PendingEntry> pending;
  private final DeadlineRing ring;
  private final LoopPorts ports;
  private final LoopLimits limits;
  private int size;
  private final LongAdder unrepeated = new LongAdder();

  CancelledCalls(
      PendingTable<PendingEntry> pending, DeadlineRing ring, LoopPorts ports, LoopLimits limits) {
    this.pending = pending;
    this.ring = ring;
    this.ports = ports;
    this.limits = limits;
  }

  /**
   * Repeats a cancel that was sent, and takes over the place of its call.
   *
   * @return false when there are too many, or nothing stands in that place
   */
  boolean repeat(CancelCall sent) {
    if (size >= limits.cancelledCalls()) {
      unrepeated.increment();
      return false;
    }
    Cancelled cancelled = new Cancelled(sent);
    pending.replace(sent.callId(), cancelled);
    size++;
    cancelled.scheduleNext();
    return true;
  }

  /** Cancels repeated now; exact on the loop, approximate elsewhere. */
  int size() {
    return size;
  }

  /** Cancels that were sent once, as there were too many. Any thread. */
  long unrepeated() {
    return unrepeated.sum();
  }

  private final class Cancelled extends RingEntry implements PendingEntry {
    private final CancelCall message;

    Cancelled(CancelCall message) {
      this.message = message;
    }

    private void scheduleNext() {
      ring.schedule(this, ports.nanoClock().getAsLong() + limits.recallNanos());
    }

    @Override
    protected void deadlinePassed(long now) {
      ReplicaAddress to = message.target();
      ports.bus().send(to.node(), to.busAddress(), message);
      scheduleNext();
    }

    @Override
    public boolean answered(BusMessage.Answer answer) {
      if (isLast(answer)) {
        end();
      }
      return true;
    }

    private static boolean isLast(BusMessage.Answer answer) {
      if (answer instanceof BusMessage.CallResponse response) {
        return !response.streamed();
      }
      return answer instanceof BusMessage.StreamFrame frame
          ? frame.last()
          : answer instanceof BusMessage.CallFailed
              || answer instanceof BusMessage.CallRefused
              || answer instanceof BusMessage.StreamReset;
    }

    @Override
    public void lost(Predicate<ReplicaAddress> gone, boolean forGood) {
      if (forGood && gone.test(message.target())) {
        end();
      }
    }

    private void end() {
      size--;
      ring.cancel(this);
      pending.remove(message.callId());
    }
  }
}

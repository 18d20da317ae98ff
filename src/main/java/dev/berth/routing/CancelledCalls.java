package dev.berth.routing;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.protocol.BusMessage.ReleaseSlot;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.port.SendResult;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Repeats cancels and lease releases at other instances until the replica's last reply, or until
 * the replica is lost. Each such message may be lost, and would then leave a slot busy without a
 * caller. A cancelled call has ended for its caller, and its repeat takes over the call's entry in
 * the pending table. A release has its own entry. Bounded; confined to its loop.
 */
final class CancelledCalls {
  private final RouterLoop loop;
  private int size;
  final LongAdder unrepeated = new LongAdder(); // sent only once: the limit was reached

  CancelledCalls(RouterLoop loop) {
    this.loop = loop;
  }

  /**
   * Repeats a cancel that was sent, and takes over the pending entry of its call.
   *
   * @return false if too many messages are repeated already
   */
  boolean repeat(CancelCall sent) {
    if (isFull()) {
      return false;
    }
    RepeatedMessage cancelled = new RepeatedMessage(sent.target());
    loop.pending().replace(sent.callId(), cancelled);
    cancelled.begin(sent.callId(), sent);
    return true;
  }

  /** Releases a lease and repeats the release; sends it only once if too many are repeated. */
  void release(ReplicaAddress target, AttemptId attempt) {
    RepeatedMessage release = new RepeatedMessage(target);
    long id = isFull() ? PendingTable.FULL : loop.pending().add(release);
    ReleaseSlot message = new ReleaseSlot(id, loop.address, attempt, target);
    if (id != PendingTable.FULL) {
      release.begin(id, message);
    }
    release.send(message);
  }

  private boolean isFull() {
    boolean full = size >= loop.limits.cancelledCalls();
    if (full) {
      unrepeated.increment();
    }
    return full;
  }

  /** Returns the number of messages repeated now; exact on the loop, approximate elsewhere. */
  int size() {
    return size;
  }

  private final class RepeatedMessage extends RingEntry implements PendingEntry {
    private final ReplicaAddress target;
    private long id = PendingTable.FULL;
    private @Nullable BusMessage message; // set while it is repeated

    RepeatedMessage(ReplicaAddress target) {
      this.target = target;
    }

    void begin(long place, BusMessage repeated) {
      id = place;
      message = repeated;
      size++;
      scheduleNext();
    }

    private void scheduleNext() {
      loop.ring().schedule(this, loop.now() + loop.limits.recallNanos());
    }

    void send(BusMessage sent) {
      if (loop.ports.bus().send(target.node(), target.busAddress(), sent) == SendResult.GONE) {
        end(); // the peer process is dead, with its leases
      }
    }

    @Override
    protected void deadlinePassed(long now) {
      scheduleNext();
      send(Objects.requireNonNull(message));
    }

    @Override
    public boolean onReply(BusMessage.Answer answer) {
      if (answer.isLast()) {
        end();
      }
      if (answer instanceof BusMessage.CallRefused released) {
        loop.onLoadReport(target, released.load());
      }
      return true;
    }

    @Override
    public void onRepliesLost(Predicate<ReplicaAddress> gone, boolean forGood) {
      if (forGood && gone.test(target)) {
        end();
      }
    }

    private void end() {
      if (message != null) {
        message = null;
        size--;
        loop.ring().cancel(this);
        loop.pending().remove(id);
      }
    }
  }
}

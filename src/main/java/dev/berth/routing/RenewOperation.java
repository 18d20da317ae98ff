package dev.berth.routing;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.routing.slots.RoutedReplica;
import io.vertx.core.Promise;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * A renewal of a remote lease that awaits its reply. Every end of the wait completes the result
 * with whether the lease is known to be active.
 */
final class RenewOperation extends RingEntry implements PendingEntry {
  /** Maximum wait for a reply, in nanoseconds; the wait does not move the lease's own deadline. */
  private static final long ANSWER_WITHIN_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final RouterLoop loop;
  private final LeasedSelection selection;
  private final Promise<Boolean> renewed;
  private final long id;

  private RenewOperation(RouterLoop loop, LeasedSelection selection, Promise<Boolean> renewed) {
    this.loop = loop;
    this.selection = selection;
    this.renewed = renewed;
    this.id = loop.pending().add(this);
  }

  static void start(RouterLoop loop, LeasedSelection selection, Promise<Boolean> renewed) {
    RenewOperation renewal = new RenewOperation(loop, selection, renewed);
    loop.ring().schedule(renewal, loop.now() + ANSWER_WITHIN_NANOS);
    if (renewal.id == PendingTable.FULL || !renewal.isSent()) {
      renewal.end(false);
    }
  }

  private boolean isSent() {
    RoutedReplica to = selection.replica;
    BusMessage message =
        new BusMessage.RenewLease(
            id,
            loop.address,
            selection.attempt(),
            to.addressFor(loop.index()),
            Objects.requireNonNull(selection.token),
            selection.ttlNanos / 1_000_000,
            loop.acceptMicros(to, SlotRequest.NO_DEADLINE));
    boolean left = loop.send(to, message).isSent(); // else its dispatch reports the reason
    if (!left) {
      selection.router.unsent(to);
    }
    return left;
  }

  @Override
  public boolean onReply(BusMessage.Answer answer) {
    if (answer instanceof BusMessage.SlotReserved reserved) {
      selection.onLoadReport(reserved.load());
      selection.extend(loop.now() + reserved.ttlMicros() * 1_000);
      end(true);
    } else if (answer instanceof BusMessage.CallRefused refused) {
      selection.onLoadReport(refused.load());
      end(false);
    } else {
      return false;
    }
    return true;
  }

  @Override
  public void onRepliesLost(Predicate<ReplicaAddress> gone, boolean forGood) {
    if (gone.test(selection.replica.info.address())) {
      end(false);
    }
  }

  @Override
  protected void deadlinePassed(long now) {
    end(false);
  }

  private void end(boolean holds) {
    loop.ring().cancel(this);
    loop.pending().remove(id);
    renewed.tryComplete(holds);
  }
}

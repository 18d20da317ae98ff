package dev.berth.routing.slots;

import dev.berth.protocol.port.SlotLease;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * The queue of a full deployment, with so many in it: one joins, and a slot that comes free goes to
 * the oldest, who takes it at once.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class PumpBenchmark {
  private static final long HOLD_NANOS = TimeUnit.SECONDS.toNanos(1);

  @Param({"1", "100", "10000"})
  public int waiting;

  private final Owner owner = new Owner();
  private SlotLedger ledger;
  private WaiterQueue queue;

  @Setup
  public void setUp() {
    ledger = Ledgers.ledger(1, System::nanoTime);
    queue = new WaiterQueue(this::grantFor, new RoutingExclusions(1));
    ledger.tryAcquire();
    for (int i = 0; i < waiting; i++) {
      join();
    }
    queue.pump();
  }

  private Grant grantFor(WaiterOwner waiting, RoutedReplica kept) {
    SlotLease lease = ledger.hold(HOLD_NANOS);
    return lease == null ? null : new Grant(null, lease, null);
  }

  private void join() {
    queue.tryAdmit(-1);
    queue.join(owner, queue.nextSequence());
  }

  /** By the pump, as when a slot comes free without a hand-off. */
  @Benchmark
  public int joinAndGrant() {
    join();
    queue.arrange();
    ledger.complete();
    queue.pump();
    return queue.size();
  }

  /** One comes and goes again. */
  @Benchmark
  public boolean joinAndCancel() {
    queue.tryAdmit(-1);
    Waiter waiter = queue.join(owner, queue.nextSequence());
    queue.arrange();
    return queue.leave(waiter);
  }

  private static final class Owner extends Asking {
    Owner() {
      super(HOLD_NANOS);
    }

    @Override
    public void onGranted(Grant grant) {
      grant.lease().consume();
    }
  }
}

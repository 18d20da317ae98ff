package dev.berth.routing.slots;

import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.port.BatchSeats;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import org.jspecify.annotations.Nullable;

/**
 * A replica of this instance. Its counts come from the ledger of the replica, so they are exact.
 * Thread-safe.
 */
public final class LocalReplica extends RoutedReplica implements SlotObserver {
  private final Slots slots;
  private final @Nullable BatchSeats batches;
  private final Grant run = Grant.run(this); // shared by all its slots
  private final WaiterQueue queue;
  private final ReplicaAddress[] addresses; // indexed by the caller's loop
  private final String[] busAddresses;

  public LocalReplica(
      ReplicaInfo info, boolean routable, Slots slots, WaiterQueue queue, int loops) {
    this(info, routable, slots, null, queue, loops);
  }

  /**
   * @param batches batches of its handlers; null if none takes batches
   */
  public LocalReplica(
      ReplicaInfo info,
      boolean routable,
      Slots slots,
      @Nullable BatchSeats batches,
      WaiterQueue queue,
      int loops) {
    super(info, routable);
    this.slots = slots;
    this.batches = batches;
    this.queue = queue;
    this.addresses = new ReplicaAddress[loops];
    this.busAddresses = new String[loops];
    for (int loop = 0; loop < loops; loop++) {
      addresses[loop] = info.spread() ? info.address().onLoop(loop) : info.address();
      busAddresses[loop] = addresses[loop].busAddress();
    }
  }

  @Override
  public int ongoing() {
    return slots.ongoing();
  }

  @Override
  public int maxOngoing() {
    return slots.maxOngoing();
  }

  @Override
  Slots slots() {
    return slots;
  }

  @Override
  @Nullable BatchSeats batches() {
    return batches;
  }

  @Override
  @Nullable Grant take(long holdNanos, int cost) {
    return holdNanos != Grant.RUN
        ? toGrant(slots.hold(cost, holdNanos))
        : slots.tryAcquire(cost) ? run : null;
  }

  @Override
  @Nullable Grant takeCompleted(int done, long holdNanos, int cost) {
    return toGrant(slots.completeAndHold(done, cost, holdNanos));
  }

  private @Nullable Grant toGrant(@Nullable SlotLease lease) {
    return lease == null ? null : new Grant(this, lease, null);
  }

  @Override
  void keep(boolean forWaiter) {
    slots.keepForLocal(forWaiter);
  }

  @Override
  public void untake(int cost) {
    slots.complete(cost);
  }

  @Override
  public boolean isOn(RoutingExclusions blocked) {
    return !info.spread() && blocked.contains(info.address().loop());
  }

  @Override
  public ReplicaAddress addressFor(int loop) {
    return addresses[loop];
  }

  @Override
  public String busAddressFor(int loop) {
    return busAddresses[loop];
  }

  @Override
  public long waitingSince() {
    return queue.hasTakers() ? queue.oldestNanos() : NOBODY;
  }

  @Override
  public int slotsNeeded() {
    return queue.hasTakers() ? queue.slotsNeeded() : 0;
  }

  @Override
  public boolean completing(Slots freeing, int done) {
    return queue.hasTakers() && eligible() && queue.handOff(this, done);
  }

  @Override
  public long maxOvertakeNanos() {
    return queue.maxOvertakeNanos();
  }

  @Override
  public void overtaking() {
    if (queue.hasTakers()) {
      queue.overtaken();
    }
  }

  @Override
  public void onBatchOpen(BatchGroup group) {
    if (queue.hasTakers() && eligible()) {
      queue.fill(this, group);
    }
  }

  @Override
  public void onSlotFreed(Slots freed) {
    if (queue.hasTakers()) {
      queue.pump();
    }
  }
}

package dev.berth.routing;

import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;

/** A replica of this instance: its ledger is asked itself, so its counts are exact. Any thread. */
final class LocalReplica extends RoutedReplica implements SlotObserver {
  final Slots slots;
  private final WaiterQueue queue;
  private final ReplicaAddress[] addresses; // by the caller's loop
  private final String[] busAddresses;

  LocalReplica(ReplicaInfo info, boolean routable, Slots slots, WaiterQueue queue, int loops) {
    super(info, routable);
    this.slots = slots;
    this.queue = queue;
    this.addresses = new ReplicaAddress[loops];
    this.busAddresses = new String[loops];
    for (int loop = 0; loop < loops; loop++) {
      addresses[loop] = info.spread() ? info.address().onLoop(loop) : info.address();
      busAddresses[loop] = addresses[loop].busAddress();
    }
  }

  @Override
  int ongoing() {
    return slots.ongoing();
  }

  @Override
  int maxOngoing() {
    return slots.maxOngoing();
  }

  @Override
  boolean tryTake() {
    return slots.tryAcquire();
  }

  @Override
  boolean isOn(BlockedLoops blocked) {
    return !info.spread() && blocked.contains(info.address().loop());
  }

  @Override
  ReplicaAddress addressFor(int loop) {
    return addresses[loop];
  }

  @Override
  String busAddressFor(int loop) {
    return busAddresses[loop];
  }

  @Override
  public boolean completing(Slots freeing) {
    return queue.hasTakers() && eligible() && queue.handOff(this, freeing);
  }

  @Override
  public void freed(Slots freed) {
    if (queue.hasTakers()) {
      queue.pump();
    }
  }
}

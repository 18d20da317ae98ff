package dev.berth.routing;

import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;

/** A replica incarnation as one instance's routers see it; lives as long as snapshots name it. */
abstract sealed class RoutedReplica permits LocalReplica, RemoteReplica {
  final ReplicaInfo info;
  private volatile boolean routable; // grants may be tried
  private volatile boolean gone; // stopped, dead, or no longer in the snapshot
  private volatile boolean avoided; // its loop is blocked, and another replica's is not

  RoutedReplica(ReplicaInfo info, boolean routable) {
    this.info = info;
    this.routable = routable;
  }

  /** Requests running or reserved: exact here, an estimate elsewhere. */
  abstract int ongoing();

  /** Slots. */
  abstract int maxOngoing();

  /** Takes one slot for a request that is sent next; the taker owes its end. */
  abstract boolean tryTake();

  /** Where this loop sends messages for it. */
  abstract ReplicaAddress addressFor(int loop);

  /** The bus address of {@link #addressFor}, made once. */
  abstract String busAddressFor(int loop);

  boolean routable() {
    return routable && !gone;
  }

  boolean gone() {
    return gone;
  }

  /** Whether a freed slot of it may go to a waiter. */
  boolean eligible() {
    return routable() && !avoided;
  }

  void avoid(boolean newAvoided) {
    avoided = newAvoided;
  }

  /** Whether its handlers run on a blocked loop; one that is spread runs on its requester's. */
  boolean isOn(BlockedLoops blocked) {
    return false;
  }

  void route(boolean newRoutable) {
    routable = newRoutable;
  }

  void leave() {
    gone = true;
  }
}

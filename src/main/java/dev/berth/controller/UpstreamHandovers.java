package dev.berth.controller;

import dev.berth.controller.ControllerAction.ProbeUpstream;
import dev.berth.controller.ControllerEvent.UpstreamProbed;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The search for nodes that reach an upstream which its owner does not reach. The other open nodes
 * probe the upstream in turn, one at a time. Confined to the controller's loop.
 */
final class UpstreamHandovers {
  private static final long AFTER_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** Time after which the answer of a probe counts as lost. */
  private static final long LOST_NANOS = TimeUnit.SECONDS.toNanos(60);

  private static final class ClosedOwner {
    final ReplicaRecord replica;
    long dueNanos; // of the next probe
    long probedNanos;
    String probing = ""; // node; empty for none
    String last = ""; // node

    ClosedOwner(ReplicaRecord replica, long dueNanos) {
      this.replica = replica;
      this.dueNanos = dueNanos;
    }
  }

  private final Epoch epoch;
  private final NodePool hosts;
  private final Map<String, ClosedOwner> closed = new LinkedHashMap<>(); // by replica id

  UpstreamHandovers(Epoch epoch, NodePool hosts) {
    this.epoch = epoch;
    this.hosts = hosts;
  }

  /** Records whether an owner reaches its upstream; a local upstream stays on its node. */
  void onReach(ReplicaRecord replica, boolean unreachable, long nowNanos) {
    if (!unreachable || !hosts.areNamed() || UpstreamPlaces.isOnNode(replica)) {
      closed.remove(replica.id);
      replica.successor = "";
    } else {
      closed.computeIfAbsent(replica.id, none -> new ClosedOwner(replica, nowNanos + AFTER_NANOS));
    }
  }

  void onReplicaRemoved(String replicaId) {
    closed.remove(replicaId);
  }

  void onProbed(UpstreamProbed event, ReconcilePass turn) {
    ClosedOwner owner = closed.get(event.replicaId());
    if (owner == null || !owner.probing.equals(event.node())) {
      return;
    }
    owner.probing = "";
    owner.dueNanos = owner.probedNanos + INTERVAL_NANOS;
    if (event.reachable() && hosts.openNodes().contains(event.node())) {
      owner.replica.successor = event.node();
      turn.touch(owner.replica.deployment);
    }
  }

  /** Sends the due probes. */
  void wake(ReconcilePass turn) {
    for (ClosedOwner owner : closed.values()) {
      if (owner.dueNanos - turn.nowNanos <= 0) {
        probe(owner, turn);
      }
    }
  }

  private void probe(ClosedOwner owner, ReconcilePass turn) {
    ReplicaRecord replica = owner.replica;
    List<String> others = new ArrayList<>(hosts.openNodes());
    others.remove(replica.node);
    owner.probing = "";
    owner.dueNanos = turn.nowNanos + INTERVAL_NANOS;
    if (replica.isServing() && !others.isEmpty()) {
      String next = others.get((others.indexOf(owner.last) + 1) % others.size());
      owner.probing = next;
      owner.last = next;
      owner.probedNanos = turn.nowNanos;
      owner.dueNanos = turn.nowNanos + LOST_NANOS;
      turn.add(new ProbeUpstream(epoch, next, replica.target, replica.id, replica.upstream));
    }
  }

  long nextWakeNanos() {
    return closed.values().stream().mapToLong(owner -> owner.dueNanos).min().orElse(Long.MAX_VALUE);
  }
}

package dev.berth.testkit;

import dev.berth.api.DeploymentId;
import dev.berth.replica.Replica;
import dev.berth.view.LedgerView;

/**
 * State of a replica at one moment.
 *
 * @param id {@code application#deployment#n}, where n counts the replicas of the test from 1
 * @param deployment deployment of the replica
 * @param state {@code RUNNING}, {@code UNHEALTHY}, {@code DRAINING}, or {@code STOPPED} for a
 *     killed replica whose handlers have not all settled
 * @param ledger slots of the replica
 * @param zombies cancelled requests that have not settled within {@code cancel_grace_s}
 */
public record TestReplica(
    String id, DeploymentId deployment, String state, SlotCounts ledger, int zombies) {

  static TestReplica of(Replica replica) {
    LedgerView view = view(replica);
    SlotCounts ledger =
        new SlotCounts(
            view.maxOngoing(),
            view.running(),
            view.reserved(),
            view.granted(),
            view.completed(),
            view.released(),
            view.expired());
    return new TestReplica(
        replica.replicaId(),
        replica.deployment(),
        replica.state().toString(),
        ledger,
        view.zombies());
  }

  static LedgerView view(Replica replica) {
    synchronized (replica) { // audits exclude one another
      replica.slots().audit();
      return replica.view();
    }
  }
}

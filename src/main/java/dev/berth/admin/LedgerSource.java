package dev.berth.admin;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.LedgerView;
import java.util.List;

/** The ledgers of the replicas of this instance. Called on a worker thread. */
@FunctionalInterface
public interface LedgerSource {

  List<ReplicaLedger> ledgers();

  /**
   * @param deployment whose replica it is
   * @param ledger its slots now, and what their last audit said
   */
  record ReplicaLedger(DeploymentId deployment, LedgerView ledger) {}
}

package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.LedgerView;

/** What the meters read of one replica, at a scrape, from any thread. */
public interface ReplicaMetricSource {

  /** The deployment it is a replica of. */
  DeploymentId deployment();

  /** Its slots, audited. */
  LedgerView ledger();

  /** Requests its handler has answered, failures included, since its start. */
  long requests();

  /** Of these, the ones its handler failed. */
  long errors();
}

package dev.berth.node;

import dev.berth.replica.ReplicaHost;
import dev.berth.view.LedgerView;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Expires leases and audits ledgers on the control loop, so that a blocked serving loop keeps no
 * lease alive.
 */
final class LedgerMaintenanceVerticle extends VerticleBase {
  private static final Logger LOG = LoggerFactory.getLogger(LedgerMaintenanceVerticle.class);
  private static final long SWEEP_INTERVAL_MS = 100;
  private static final int SWEEPS_PER_ROUND = 10; // a ledger is audited once a second

  private final ReplicaHost replicas;
  private final Runnable alsoSwept;
  private long timer;
  private int sweeps;

  /** The number of mismatches since start. Thread-safe. */
  volatile long mismatches;

  /**
   * @param alsoSwept expires other entries; runs every 100 ms
   */
  LedgerMaintenanceVerticle(ReplicaHost replicas, Runnable alsoSwept) {
    this.replicas = replicas;
    this.alsoSwept = alsoSwept;
  }

  @Override
  public Future<?> start() {
    timer = vertx.setPeriodic(SWEEP_INTERVAL_MS, id -> tick());
    return Future.succeededFuture();
  }

  void tick() {
    replicas.sweep(sweeps++, SWEEPS_PER_ROUND, this::mismatched);
    replicas.tick();
    alsoSwept.run();
  }

  /**
   * Counts a new or changed mismatch. The first one of a ledger is logged; the ledger endpoint
   * shows the current state.
   */
  private void mismatched(LedgerView view) {
    mismatches++;
    if (view.lastAudit().findings() == 1) {
      LOG.error("replica {}: ledger mismatch: {}", view.replicaId(), view);
    }
  }

  @Override
  public Future<?> stop() {
    vertx.cancelTimer(timer);
    return Future.succeededFuture();
  }
}

package dev.berth.node;

import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.ReplicaHost;
import dev.berth.view.LedgerView;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Expires leases and audits ledgers on the control loop, so that a blocked serving loop keeps no
 * lease alive. Health checks have their own ticks: with a thousand replicas one is due all the
 * time, and idle ledgers need a sweep per second only.
 */
final class LedgerMaintenanceVerticle extends VerticleBase {
  private static final Logger LOG = LoggerFactory.getLogger(LedgerMaintenanceVerticle.class);
  private static final long SWEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final int SWEEPS_PER_ROUND = 10; // a ledger is audited once a second

  final TickTimer.LoopTick checks; // of replicas
  final TickTimer.LoopTick sweepTicks;
  private final ReplicaHost replicas;
  private final BooleanSupplier alsoSwept;
  private int sweeps;
  private boolean idle;

  /** The number of mismatches since start. Thread-safe. */
  volatile long mismatches;

  /**
   * @param control timer of the control loop
   * @param alsoSwept expires other entries; runs every 100 ms while it returns true, else each
   *     second
   */
  LedgerMaintenanceVerticle(TickTimer control, ReplicaHost replicas, BooleanSupplier alsoSwept) {
    this.checks = control.every(SWEEP_NANOS);
    this.sweepTicks = control.every(SWEEP_NANOS);
    this.replicas = replicas;
    this.alsoSwept = alsoSwept;
  }

  @Override
  public Future<?> start() {
    checks.start(replicas::tick, () -> {});
    sweepTicks.start(this::tick, () -> {});
    return Future.succeededFuture();
  }

  /** Sweeps once. Returns the nanoseconds until the next sweep is needed. */
  long tick() {
    boolean leases = replicas.sweep(sweeps++, idle ? 1 : SWEEPS_PER_ROUND, this::mismatched);
    idle = !alsoSwept.getAsBoolean() && !leases;
    return idle ? TickTimer.IDLE_NANOS : 0;
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
    checks.stop();
    sweepTicks.stop();
    return Future.succeededFuture();
  }
}

package dev.berth.node;

import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.UpstreamReport;
import dev.berth.controller.UpstreamShare;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.protocol.port.TickTimer;
import dev.berth.protocol.port.TickTimer.LoopTick;
import dev.berth.upstream.OwnerLease;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shares of upstreams that the replicas of a node may use, and the reports of their slots. When
 * the node's lease ends, all replicas with a lease are closed for good and their connections are
 * reset. Confined to the control loop.
 */
final class LocalShares {
  private static final Logger LOG = LoggerFactory.getLogger(LocalShares.class);

  /** Interval of the reports of a replica that drains or exceeds its share. */
  static final long REPORT_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  private final OwnerLease lease;
  private final LoopExecutor control;
  private final Consumer<ControllerEvent> controller;
  private final Map<String, UpstreamShare> pending = new HashMap<>(); // of replicas that start
  private final Map<String, LocalReplicaState> running = new LinkedHashMap<>();
  private final LoopTick reports;
  private final LoopTick end; // of the lease
  private boolean ending; // connections are being reset

  /**
   * @param ticks timer of the control loop
   * @param control the control loop
   * @param controller receives the reports
   */
  LocalShares(
      OwnerLease lease,
      TickTimer ticks,
      LoopExecutor control,
      Consumer<ControllerEvent> controller) {
    this.lease = lease;
    this.control = control;
    this.controller = controller;
    this.reports = ticks.every(REPORT_NANOS);
    this.end = ticks.every(TickTimer.TICK_NANOS);
    reports.start(this::reportChanges, () -> {});
    end.start(this::checkLease, () -> {});
  }

  // --- shares ---

  /** Applies the share of a hosted replica, now or once it runs. */
  void share(String replicaId, UpstreamShare share) {
    checkLease();
    LocalReplicaState here = running.get(replicaId);
    if (here == null) {
      pending.put(replicaId, share);
      updateLease();
    } else {
      apply(here, share);
    }
  }

  void onRunning(LocalReplicaState here) {
    checkLease();
    running.put(here.id(), here);
    UpstreamShare first = pending.remove(here.id());
    if (first != null) {
      apply(here, first);
    }
  }

  private void apply(LocalReplicaState here, UpstreamShare share) {
    here.share = share;
    updateLease(); // before the replica opens
    here.replica.gate.configure(share.maximum());
    report(here.id());
  }

  void forget(String replicaId) {
    pending.remove(replicaId);
    running.remove(replicaId);
    updateLease();
  }

  // --- reports ---

  /** Reports the slots of a running replica. */
  void report(String replicaId) {
    LocalReplicaState here = running.get(replicaId);
    if (here != null) {
      UpstreamReport now = here.report();
      here.reported = now;
      controller.accept(now);
      reports.need();
    }
  }

  /** Returns whether the controller waits for slots of a replica. */
  private static boolean isAwaited(LocalReplicaState here) {
    UpstreamReport last = here.reported;
    return last != null && last.ongoing() > (last.draining() ? 0 : last.share().maximum());
  }

  private long reportChanges() {
    running.values().stream()
        .filter(LocalShares::isAwaited)
        .filter(here -> !here.report().equals(here.reported))
        .forEach(here -> report(here.id()));
    return running.values().stream().anyMatch(LocalShares::isAwaited) ? 0 : TickTimer.NEVER;
  }

  // --- lease ---

  private void updateLease() {
    if (!ending) {
      lease.limit(shortestNanos());
      end.need();
    }
  }

  /** Returns the shortest lease of the shares; 0 for none. */
  private long shortestNanos() {
    return Stream.concat(
            pending.values().stream(), running.values().stream().map(here -> here.share))
        .filter(share -> share.leaseMillis() > 0)
        .mapToLong(share -> TimeUnit.MILLISECONDS.toNanos(share.leaseMillis()))
        .min()
        .orElse(0);
  }

  /** Closes the replicas with a lease if it has ended. Returns nanoseconds until the next check. */
  private long checkLease() {
    if (!ending && lease.hasEnded()) {
      closeAll();
    }
    return ending ? TickTimer.NEVER : lease.remainingNanos();
  }

  /** Closes all replicas with a lease. Until their connections are reset, the lease stays ended. */
  private void closeAll() {
    ending = true;
    pending.values().removeIf(share -> share.leaseMillis() > 0);
    List<LocalReplicaState> leased =
        running.values().stream().filter(here -> here.share.leaseMillis() > 0).toList();
    if (!leased.isEmpty()) {
      LOG.warn(
          "lease of {} upstreams: ended without the controller: connections reset", leased.size());
    }
    List<Future<Void>> resets = leased.stream().map(LocalShares::close).toList();
    Future.join(resets).onComplete(reset -> control.execute(this::onClosed));
  }

  private static Future<Void> close(LocalReplicaState here) {
    here.share = new UpstreamShare(here.share.number(), 0, 0);
    here.replica.gate.configure(0);
    here.replica.kill(); // first: else the reset would look like the upstream's own
    return here.replica.gate.reset();
  }

  private void onClosed() {
    ending = false;
    lease.restart(shortestNanos());
    end.need();
  }
}

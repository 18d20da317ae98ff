package dev.berth.simulation;

import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Inventory;
import dev.berth.controller.ControllerEvent.UpstreamReport;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.UpstreamShare;
import dev.berth.fakes.Replicas;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.simulation.UpstreamOwnersSimulation.CountingServer;
import dev.berth.view.ReplicaPhase;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A replica of an upstream at its owner, with its requests. */
final class HostedUpstream {
  /** A request, which counts at the server from its head to its end. */
  private final class UpstreamExchange {
    boolean atServer = true;
    boolean wasReset;

    UpstreamExchange() {
      exchanges.add(this);
      ongoing++;
      sim.count(server, id, 1);
      sim.requests++;
      long millis =
          (long)
              Math.exp(Math.log(10) + sim.random.nextDouble() * Math.log(sim.orphanMillis / 10.0));
      sim.after(millis, this::onEnd);
      if (sim.random.nextInt(5) == 0) {
        owner.after(sim.random.nextLong(millis), this::cancel);
      }
    }

    /** Ends the request at the server, whose response then reaches the owner. */
    void onEnd() {
      if (atServer) {
        atServer = false;
        sim.count(server, id, -1);
        sim.after(1 + sim.random.nextInt(5), () -> owner.run(() -> settle(false)));
      }
    }

    void cancel() {
      if (atServer && !wasReset && server.stops) {
        sim.after(sim.random.nextInt(900), this::onEnd);
      }
    }

    void settle(boolean orphaned) {
      if ((orphaned || !wasReset) && exchanges.remove(this)) {
        ongoing--;
        endIfEmpty();
      }
    }

    /** Closes the connection: the owner learns no end, and waits for the time of an orphan. */
    void reset() {
      if (!wasReset) {
        cancel();
        wasReset = true;
        owner.after(sim.orphanMillis, () -> settle(true));
      }
    }
  }

  private final UpstreamOwnersSimulation sim;
  private final UpstreamOwner owner;
  final String id;
  final String key;
  final CountingServer server;
  final Set<UpstreamExchange> exchanges = new LinkedHashSet<>();
  DeploymentTarget target;
  @Nullable DeploymentTarget next;
  boolean runs;
  boolean draining;
  boolean stopping;
  UpstreamShare share = UpstreamShare.NONE;
  @Nullable UpstreamShare pending;
  int ongoing;
  @Nullable UpstreamReport reported;

  HostedUpstream(UpstreamOwnersSimulation sim, UpstreamOwner owner, StartReplica start) {
    this.sim = sim;
    this.owner = owner;
    this.id = start.replicaId();
    this.key = start.upstream();
    this.server = sim.server(key);
    this.target = start.target();
    owner.hosted.put(id, this);
  }

  /** Starts a request if a slot is free; the lease is checked right before its head is written. */
  void request() {
    if (ongoing < open()) {
      new UpstreamExchange();
    }
  }

  void cancelAll() {
    List.copyOf(exchanges).forEach(UpstreamExchange::cancel);
  }

  void resetAll() {
    List.copyOf(exchanges).forEach(UpstreamExchange::reset);
  }

  int open() {
    return !runs || draining || owner.hasLeaseEnded() ? 0 : share.maximum();
  }

  UpstreamReport report() {
    return new UpstreamReport(id, share, ongoing, draining);
  }

  void sendReport() {
    reported = report();
    owner.send(reported);
  }

  void onStarted() {
    if (owner.hosted.get(id) == this && !stopping) {
      runs = true;
      owner.send(new ControllerEvent.ReplicaRunning(info()));
      if (pending != null) {
        apply(pending);
      }
      if (next != null) {
        reconfigure(next);
      }
    }
  }

  void apply(UpstreamShare now) {
    share = now;
    pending = null;
    sim.check(server);
    sendReport();
  }

  void reconfigure(DeploymentTarget to) {
    next = to;
    if (runs) {
      owner.after(
          1 + sim.random.nextInt(300),
          () -> {
            if (next == to) {
              target = to;
              next = null;
              owner.send(new ControllerEvent.ReplicaReconfigured(id, to.version()));
            }
          });
    }
  }

  void drain() {
    if (!draining) {
      draining = true;
      owner.send(new ControllerEvent.ReplicaDraining(id));
      sendReport();
    }
    stopping = true;
    endIfEmpty();
  }

  void endIfEmpty() {
    if (stopping && ongoing == 0) {
      end();
    }
  }

  void end() {
    if (owner.hosted.remove(id, this)) {
      if (runs) {
        sendReport();
      }
      owner.send(new ControllerEvent.ReplicaStopped(id));
    }
  }

  ReplicaInfo info() {
    ReplicaAddress at = new ReplicaAddress(owner.bus, 0, id.hashCode() & 0xfff, 1);
    return Replicas.info(id, target.id(), at, 4);
  }

  Inventory.Found found() {
    ReplicaPhase phase =
        !runs
            ? ReplicaPhase.STARTING
            : draining
                ? ReplicaPhase.DRAINING
                : next == null ? ReplicaPhase.RUNNING : ReplicaPhase.UPDATING;
    return new Inventory.Found(info(), target, next, phase, true, false, 0, key, "", report());
  }
}

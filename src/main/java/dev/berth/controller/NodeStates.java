package dev.berth.controller;

import dev.berth.controller.ControllerEvent.Inventory;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.ControllerEvent.NodeCordoned;
import dev.berth.controller.ControllerEvent.NodeJoined;
import dev.berth.controller.ControllerEvent.NodeLeaving;
import dev.berth.controller.ControllerEvent.NodeLeft;
import dev.berth.controller.ControllerEvent.NodeLost;
import dev.berth.controller.ControllerEvent.NodeSuspected;
import dev.berth.controller.ControllerEvent.OfNode;
import dev.berth.controller.ControllerEvent.ReconfigureFailed;
import dev.berth.controller.ControllerEvent.ReplicaDraining;
import dev.berth.controller.ControllerEvent.ReplicaHealth;
import dev.berth.controller.ControllerEvent.ReplicaReconfigured;
import dev.berth.controller.ControllerEvent.ReplicaRunning;
import dev.berth.controller.ControllerEvent.ReplicaStopped;
import dev.berth.controller.NodePool.PooledNode;
import dev.berth.view.ReplicaPhase;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Moves the states of replicas as instances join, send inventories and leave. Confined to the
 * controller's loop.
 */
record NodeStates(
    NodePool hosts,
    ControllerRecovery recovery,
    DeploymentStates deployments,
    ApplicationStates applications,
    AutoscaledDeployments autoscaled) {

  void on(OfNode event, ReconcilePass turn) {
    PooledNode host = hosts.get(event.node());
    if (event instanceof NodeJoined joined) {
      recovery.waitForAll();
      hosts.onNodeJoined(joined.node(), joined.zone());
      deployments.shares.onNodeJoined(joined.node());
      autoscaled.expect(List.of(joined.node()), turn.nowNanos);
    } else if (host != null) {
      of(host, event, turn);
      applications.touchAll(turn);
    } else if (event instanceof NodeLost || event instanceof NodeLeft) {
      if (event instanceof NodeLeft) {
        deployments.shares.onNodeEnded(event.node(), turn.nowNanos);
      }
      recovery.onNodeRemoved(event.node(), turn.nowNanos); // never joined this controller
      autoscaled.onUnreportedNodeLost(event.node(), turn.nowNanos);
      applications.touchAll(turn);
    } else if (event instanceof Inventory inventory && !hosts.areNamed()) {
      applications.inventory(inventory, turn);
    }
  }

  private void of(PooledNode host, OfNode event, ReconcilePass turn) {
    if (event instanceof Inventory inventory) {
      host.told = true;
      onInventory(inventory, turn);
      deployments.shares.onInventory(inventory, turn.nowNanos);
    } else if (event instanceof NodeLost) {
      removeNode(host, "node " + host.name + " was lost", turn);
      deployments.shares.onNodeLost(host.name, turn.nowNanos);
      autoscaled.onNodeLost(host.name, turn.nowNanos);
    } else if (event instanceof NodeLeft) {
      removeNode(host, "node " + host.name + " left", turn);
      deployments.shares.onNodeEnded(host.name, turn.nowNanos);
      autoscaled.onNodeLeft(host.name, turn.nowNanos);
    } else if (event instanceof NodeLeaving) {
      host.leaving = true;
    } else if (event instanceof NodeCordoned told) {
      host.cordoned = told.cordoned();
      host.leaving &= told.cordoned();
    } else if (event instanceof NodeSuspected told) {
      host.suspected = told.suspected();
    }
  }

  private void removeNode(PooledNode host, String why, ReconcilePass turn) {
    hosts.remove(host.name);
    recovery.onNodeRemoved(host.name, turn.nowNanos);
    for (ReplicaRecord replica : deployments.on(host.name)) {
      deployments.onLostWithNode(replica, why, turn);
    }
    turn.add(new ControllerAction.NodeGone(host.name));
  }

  /**
   * Treats known replicas missing from the inventory as dead; a starting one is commanded again.
   * Unknown ones belong to an earlier controller.
   */
  private void onInventory(Inventory inventory, ReconcilePass turn) {
    Map<String, Found> found = new LinkedHashMap<>();
    inventory.replicas().forEach(each -> found.put(each.info().replicaId(), each));
    for (ReplicaRecord replica : deployments.on(inventory.node())) {
      Found there = found.remove(replica.id);
      if (there != null) {
        compare(replica, there, turn);
      } else if (replica.isStarting()) {
        replica.commandAgain(turn);
      } else {
        deployments.on(new ReplicaStopped(replica.id), turn);
      }
    }
    applications.inventory(
        new Inventory(inventory.node(), List.copyOf(found.values()), inventory.complete()), turn);
  }

  /** Applies missed events of a replica, and resends a command that the instance missed. */
  private void compare(ReplicaRecord replica, Found found, ReconcilePass turn) {
    String why = found.healthy() ? "" : "its health checks failed";
    deployments.on(new ReplicaHealth(replica.id, found.healthy(), why), turn);
    replica.waits = found.waits();
    deployments.handovers.onReach(replica, found.isUnreachable(), turn.nowNanos);
    switch (found.phase()) {
      case DRAINING, STOPPING -> {
        replica.info = found.info();
        deployments.on(new ReplicaDraining(replica.id), turn);
      }
      case RUNNING, UPDATING -> {
        deployments.on(new ReplicaRunning(found.info()), turn);
        updated(replica, found, turn);
        if (!replica.isActive()) {
          replica.commandAgain(turn);
        }
      }
      default -> {
        if (!replica.isStarting()) {
          replica.commandAgain(turn);
        }
      }
    }
  }

  private void updated(ReplicaRecord replica, Found found, ReconcilePass turn) {
    DeploymentVersion wanted = replica.version();
    boolean isUnderWay = found.next() != null && found.next().version().equals(wanted);
    if (replica.phase != ReplicaPhase.UPDATING || isUnderWay) {
      return;
    }
    if (found.refused()) {
      deployments.on(new ReconfigureFailed(replica.id, wanted, "it was refused"), turn);
    } else if (found.target().version().equals(wanted)) {
      deployments.on(new ReplicaReconfigured(replica.id, wanted), turn);
    } else {
      replica.commandAgain(turn);
    }
  }
}

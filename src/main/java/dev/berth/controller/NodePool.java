package dev.berth.controller;

import dev.berth.config.DeploymentConfig;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The instances that replicas may run on. Before the first named instance joins, the pool is the
 * controller's own instance, without any limit. Confined to the controller's loop.
 */
final class NodePool {
  /**
   * An instance. New replicas may start on it after its inventory, unless it is cordoned, leaving
   * or suspected.
   */
  static final class PooledNode {
    final String name;
    String zone = ""; // empty when unknown
    final boolean leads; // the controller is on it
    boolean told;
    boolean cordoned;
    boolean leaving;
    boolean suspected;

    private PooledNode(String name, boolean leads) {
      this.name = name;
      this.leads = leads;
    }

    private boolean isOpen() {
      return told && !cordoned && !leaving && !suspected;
    }
  }

  private final PooledNode own;
  private final Map<String, PooledNode> named =
      new LinkedHashMap<>(); // in the order of their joins
  private final Map<String, Integer> replicas = new HashMap<>(); // of all deployments, by host
  private String given = ""; // host of the last start

  NodePool(String own) {
    this.own = new PooledNode(own, true);
  }

  boolean areNamed() {
    return !named.isEmpty();
  }

  /** Returns whether the reports of an instance count. */
  boolean has(String name) {
    return named.isEmpty() || named.containsKey(name);
  }

  @Nullable PooledNode get(String name) {
    return named.get(name);
  }

  /**
   * Returns the nodes that accept replicas, in the order of their joins; none without a cluster.
   */
  List<String> openNodes() {
    return named.values().stream().filter(PooledNode::isOpen).map(host -> host.name).toList();
  }

  /** Adds an instance, which has yet to send its inventory. */
  void onNodeJoined(String name, @Nullable String zone) {
    PooledNode host =
        named.computeIfAbsent(name, other -> new PooledNode(other, other.equals(own.name)));
    host.zone = zone == null ? "" : zone;
    host.told = false;
  }

  /** Removes an instance; returns whether it was present. */
  boolean remove(String name) {
    return named.remove(name) != null;
  }

  void onReplicaAdded(ReplicaRecord replica) {
    replicas.merge(replica.node, 1, Integer::sum);
    given = replica.node;
  }

  void onReplicaRemoved(ReplicaRecord replica) {
    replicas.computeIfPresent(replica.node, (node, all) -> all == 1 ? null : all - 1);
  }

  /** Returns the replicas of all deployments by host; hosts without replicas are absent. */
  Map<String, Integer> replicas() {
    return Map.copyOf(replicas);
  }

  /** Returns the present placement of a deployment: the instances where its replicas may start. */
  Placement placement(DeploymentState deployment, long nowNanos) {
    if (named.isEmpty()) {
      return new Placement(deployment, List.of(own), named, replicas, Integer.MAX_VALUE, nowNanos);
    }
    Integer most = deployment.target.settings().find(DeploymentConfig.MAX_REPLICAS_PER_NODE);
    List<PooledNode> open = new ArrayList<>();
    int first = 0; // round robin among equals: start after the host of the last start
    for (PooledNode host : named.values()) {
      if (host.isOpen()) {
        open.add(host);
      }
      first = host.name.equals(given) ? open.size() : first;
    }
    Collections.rotate(open, -first);
    return new Placement(
        deployment, open, named, replicas, most == null ? Integer.MAX_VALUE : most, nowNanos);
  }
}

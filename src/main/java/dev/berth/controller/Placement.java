package dev.berth.controller;

import dev.berth.controller.NodePool.PooledNode;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;

/**
 * The instances where replicas of one deployment may start. Instances without a recent failed start
 * of the deployment come first. Then the fewest of its replicas on the instance decide, then in the
 * zone, then the fewest replicas of all deployments. Each placed replica counts at once.
 */
final class Placement {
  private final List<PooledNode> open; // first one wins among equals
  private final Map<String, PooledNode> named;
  private final int most; // maximum of the deployment per host
  private final Map<String, Integer> own = new HashMap<>(); // of the deployment, by host
  private final Map<String, Integer> zones = new HashMap<>(); // of the deployment, by zone
  private final Map<String, Integer> all; // of all deployments, by host
  private final Predicate<PooledNode> failed; // hosts with a recent failed start

  /**
   * @param open hosts that accept replicas, in round-robin order
   * @param named all hosts
   * @param replicas of all deployments, by host
   * @param most maximum of this deployment per host
   */
  Placement(
      DeploymentState deployment,
      List<PooledNode> open,
      Map<String, PooledNode> named,
      Map<String, Integer> replicas,
      int most,
      long nowNanos) {
    this.open = open;
    this.named = named;
    this.most = most;
    this.all = new HashMap<>(replicas);
    this.failed = host -> deployment.hasFailedAt(host.name, nowNanos);
    deployment.replicas.values().forEach(each -> count(each.node));
  }

  private void count(String node) {
    own.merge(node, 1, Integer::sum);
    PooledNode host = named.get(node);
    if (host != null) {
      zones.merge(host.zone, 1, Integer::sum);
    }
  }

  private int at(String node) {
    return own.getOrDefault(node, 0);
  }

  /** Returns whether the hosts are nodes of a cluster. */
  boolean isCluster() {
    return !named.isEmpty();
  }

  /** Returns the hosts that accept replicas, by name without process. */
  Map<String, String> places() {
    Map<String, String> all = new LinkedHashMap<>();
    open.forEach(host -> all.put(nameOf(host.name), host.name));
    return all;
  }

  /** Returns the name of a node in its bus name. */
  static String nameOf(String node) {
    return node.split("~", 2)[0];
  }

  /** Returns whether the next replica may start on a host. */
  boolean accepts(String node) {
    return at(node) < most && open.stream().anyMatch(host -> host.name.equals(node));
  }

  /** Returns whether the next replica may start on a host; if so, counts it there. */
  boolean take(String node) {
    boolean takes = accepts(node);
    if (takes) {
      count(node);
      all.merge(node, 1, Integer::sum);
    }
    return takes;
  }

  /** Returns how many further replicas may start now; {@link Integer#MAX_VALUE} without a limit. */
  int room() {
    if (most == Integer.MAX_VALUE) {
      return open.isEmpty() ? 0 : most;
    }
    return open.stream().mapToInt(host -> Math.max(0, most - at(host.name))).sum();
  }

  /**
   * Returns the host of the next replica and counts it there.
   *
   * @throws java.util.NoSuchElementException when {@link #room} is 0
   */
  String next() {
    return next(host -> 0);
  }

  /**
   * Returns the host of the next owner of an upstream: preferably one without another part of it,
   * then one without the controller.
   *
   * @param owners nodes of its other parts
   */
  String nextOwner(Set<String> owners) {
    return next(host -> owners.contains(host.name) ? 2 : host.leads ? 1 : 0);
  }

  private String next(ToIntFunction<PooledNode> rank) {
    Comparator<PooledNode> fewest =
        Comparator.<PooledNode, Boolean>comparing(failed::test)
            .thenComparingInt(rank)
            .thenComparingInt(each -> at(each.name))
            .thenComparingInt(each -> zones.getOrDefault(each.zone, 0))
            .thenComparingInt(each -> all.getOrDefault(each.name, 0));
    PooledNode host = open.stream().filter(each -> at(each.name) < most).min(fewest).orElseThrow();
    take(host.name);
    return host.name;
  }

  /**
   * Returns whether another replica may start on a replica's host once that replica has stopped.
   */
  boolean givesRoom(ReplicaRecord replica) {
    return open.stream().anyMatch(host -> host.name.equals(replica.node));
  }

  /** Returns whether a replica must move, as its host is leaving. */
  boolean leaves(ReplicaRecord replica) {
    PooledNode host = named.get(replica.node);
    return host != null && host.leaving;
  }

  /** Returns the reason for missing {@link #room}, for people. */
  String full() {
    return open.isEmpty()
        ? "no node accepts replicas: %d %s cordoned, leaving or silent"
            .formatted(named.size(), named.size() == 1 ? "is" : "are")
        : "no node has capacity: max_replicas_per_node %d on %d %s"
            .formatted(most, open.size(), open.size() == 1 ? "node" : "nodes");
  }
}

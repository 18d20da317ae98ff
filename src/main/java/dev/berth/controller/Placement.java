package dev.berth.controller;

import dev.berth.controller.Hosts.Host;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Where replicas of one deployment may start, as things are: where none of it has failed to start
 * of late, then where the fewest of them are, then in the zone with the fewest, then where the
 * fewest of all are. What it has named counts as there.
 */
final class Placement {
  private final List<Host> open; // the first of equals is taken
  private final Map<String, Host> named;
  private final int most; // on each
  private final Map<String, Integer> own = new HashMap<>(); // of the deployment, by host
  private final Map<String, Integer> zones = new HashMap<>(); // likewise
  private final Map<String, Integer> all; // of all deployments, by host
  private final Predicate<Host> failed; // to start, of late

  /**
   * @param open that take replicas, in the order of their turns
   * @param named all that there are
   * @param replicas of all deployments, by host
   * @param most of this deployment on each
   */
  Placement(
      DeploymentState deployment,
      List<Host> open,
      Map<String, Host> named,
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
    Host host = named.get(node);
    if (host != null) {
      zones.merge(host.zone, 1, Integer::sum);
    }
  }

  private int at(String node) {
    return own.getOrDefault(node, 0);
  }

  /** How many more may start now; {@link Integer#MAX_VALUE} when nothing bounds that. */
  int room() {
    if (most == Integer.MAX_VALUE) {
      return open.isEmpty() ? 0 : most;
    }
    return open.stream().mapToInt(host -> Math.max(0, most - at(host.name))).sum();
  }

  /** Where the next one starts; there must be room. */
  String next() {
    Comparator<Host> fewest =
        Comparator.<Host, Boolean>comparing(failed::test)
            .thenComparingInt(each -> at(each.name))
            .thenComparingInt(each -> zones.getOrDefault(each.zone, 0))
            .thenComparingInt(each -> all.getOrDefault(each.name, 0));
    Host host = open.stream().filter(each -> at(each.name) < most).min(fewest).orElseThrow();
    count(host.name);
    all.merge(host.name, 1, Integer::sum);
    return host.name;
  }

  /** Whether another one may take a replica's place once it is gone. */
  boolean givesRoom(ReplicaRecord replica) {
    return open.stream().anyMatch(host -> host.name.equals(replica.node));
  }

  /** Whether a replica is to be somewhere else. */
  boolean leaves(ReplicaRecord replica) {
    Host host = named.get(replica.node);
    return host != null && host.leaving;
  }

  /** Why there is no room. */
  String full() {
    return open.isEmpty()
        ? "no node takes replicas: %d %s there, cordoned, leaving or not heard"
            .formatted(named.size(), named.size() == 1 ? "is" : "are")
        : "no node has room: max_replicas_per_node %d on %d %s"
            .formatted(most, open.size(), open.size() == 1 ? "node" : "nodes");
  }
}

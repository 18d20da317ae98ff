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
 * The instances that replicas may run on. As long as none was named there is the controller's own,
 * which takes whatever is wanted. Belongs to the controller's loop.
 */
final class Hosts {
  /** One of them: it takes replicas once it told what it hosts, and while nothing is against it. */
  static final class Host {
    final String name;
    String zone = ""; // empty where it has none
    boolean told;
    boolean cordoned;
    boolean leaving;
    boolean suspected;

    private Host(String name) {
      this.name = name;
    }

    private boolean isOpen() {
      return told && !cordoned && !leaving && !suspected;
    }
  }

  private final Host own;
  private final Map<String, Host> named = new LinkedHashMap<>(); // in the order they came
  private final Map<String, Integer> replicas = new HashMap<>(); // of all deployments, by host
  private String given = ""; // the last that was given one

  Hosts(String own) {
    this.own = new Host(own);
  }

  boolean areNamed() {
    return !named.isEmpty();
  }

  /** Whether what an instance tells counts. */
  boolean has(String name) {
    return named.isEmpty() || named.containsKey(name);
  }

  @Nullable Host get(String name) {
    return named.get(name);
  }

  /** It is there, and has yet to tell what it hosts. */
  void joined(String name, @Nullable String zone) {
    Host host = named.computeIfAbsent(name, Host::new);
    host.zone = zone == null ? "" : zone;
    host.told = false;
  }

  /** It is there no more; false when it was not. */
  boolean remove(String name) {
    return named.remove(name) != null;
  }

  void began(ReplicaRecord replica) {
    replicas.merge(replica.node, 1, Integer::sum);
    given = replica.node;
  }

  void ended(ReplicaRecord replica) {
    replicas.computeIfPresent(replica.node, (node, all) -> all == 1 ? null : all - 1);
  }

  /** Of all deployments, by host; none where it is not named. */
  Map<String, Integer> replicas() {
    return Map.copyOf(replicas);
  }

  /** Where replicas of a deployment may start now. */
  Placement placement(DeploymentState deployment, long nowNanos) {
    if (named.isEmpty()) {
      return new Placement(deployment, List.of(own), named, replicas, Integer.MAX_VALUE, nowNanos);
    }
    Integer most = deployment.target.settings().find(DeploymentConfig.MAX_REPLICAS_PER_NODE);
    List<Host> open = new ArrayList<>();
    int first = 0; // among equals: the one that follows the last that was given one
    for (Host host : named.values()) {
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

package dev.berth.controller;

import dev.berth.config.UpstreamOptions;
import java.util.LinkedHashMap;
import java.util.Map;

/** The replicas of a deployment's upstreams: the keys, and the nodes of local upstreams. */
final class UpstreamPlaces {
  private UpstreamPlaces() {}

  /**
   * Returns the wanted keys with their nodes; an empty node is any. In a cluster, a local upstream
   * has a key for each node that accepts replicas or has one.
   *
   * @param made target of new replicas
   */
  static Map<String, String> wanted(
      DeploymentState deployment, DeploymentTarget made, Placement placement) {
    Map<String, String> all = new LinkedHashMap<>();
    UpstreamOptions.byKey(made.settings())
        .forEach(
            (key, entry) -> {
              if (!placement.isCluster() || !entry.get(UpstreamOptions.LOCAL)) {
                all.put(key, "");
                return;
              }
              placement
                  .places()
                  .forEach((name, node) -> all.put(UpstreamOptions.onNode(key, name), node));
              deployment.replicas.values().stream()
                  .filter(ReplicaRecord::isActive)
                  .filter(each -> isOnNode(each) && entryKey(each.upstream).equals(key))
                  .forEach(each -> all.putIfAbsent(each.upstream, each.node));
              if (all.keySet().stream().noneMatch(each -> entryKey(each).equals(key))) {
                all.put(key, ""); // waits for a node
              }
            });
    return all;
  }

  private static String entryKey(String key) {
    return UpstreamOptions.withoutPlace(key);
  }

  /** Returns whether a replica represents a local upstream of its node. */
  static boolean isOnNode(ReplicaRecord replica) {
    return replica.upstream.equals(
        UpstreamOptions.onNode(entryKey(replica.upstream), Placement.nameOf(replica.node)));
  }

  /**
   * Returns whether a key takes the place of a replica of the same server: one of them has a place
   * and the other has none. The replica must end first.
   */
  static boolean replaces(String key, ReplicaRecord replica) {
    String other = replica.upstream;
    String entry = UpstreamOptions.withoutPart(entryKey(key));
    return !other.isEmpty()
        && entry.equals(UpstreamOptions.withoutPart(entryKey(other)))
        && key.equals(entryKey(key)) != other.equals(entryKey(other));
  }
}

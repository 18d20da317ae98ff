package dev.berth.controller;

import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.Settings;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The wanted replicas of a deployment's upstreams, for one decision. In a cluster, a local upstream
 * has a key for each node that accepts replicas or has one. An upstream by address has a key for
 * each address.
 */
final class UpstreamPlaces {
  /** Maximum number of addresses of all names of a deployment. */
  private static final int MAX_ADDRESSES = 64;

  /** Node by key; empty for any. */
  final Map<String, String> keys = new LinkedHashMap<>();

  /** Reason of missing keys, for people; empty for none. */
  String lacks = "";

  private final DeploymentState deployment;
  private int addresses; // of all names
  private boolean awaitsAddresses;

  private UpstreamPlaces(DeploymentState deployment) {
    this.deployment = deployment;
  }

  static UpstreamPlaces of(DeploymentState deployment, Placement placement, UpstreamNames names) {
    UpstreamPlaces all = new UpstreamPlaces(deployment);
    DeploymentTarget made = deployment.startTarget(); // target of new replicas
    if (made != null) {
      UpstreamOptions.byKey(made.settings())
          .forEach(
              (key, entry) -> {
                if (UpstreamOptions.isByAddress(entry)) {
                  all.addAddresses(key, entry, names);
                } else if (placement.isCluster() && entry.get(UpstreamOptions.LOCAL)) {
                  all.addNodes(key, placement.places());
                } else {
                  all.keys.put(key, "");
                }
              });
    }
    return all;
  }

  private void addNodes(String key, Map<String, String> places) {
    int before = keys.size();
    places.forEach((name, node) -> keys.put(UpstreamOptions.onNode(key, name), node));
    deployment.replicas.values().stream()
        .filter(each -> each.isActive() && isOnNode(each))
        .filter(each -> UpstreamOptions.withoutPlace(each.upstream).equals(key))
        .forEach(each -> keys.putIfAbsent(each.upstream, each.node));
    if (keys.size() == before) {
      keys.put(key, ""); // waits for a node
    }
  }

  private void addAddresses(String key, Settings entry, UpstreamNames names) {
    String name = entry.get(UpstreamOptions.URL).host();
    List<String> found = names.addresses(name);
    String failure = names.failure(name);
    awaitsAddresses |= found.isEmpty();
    if (!failure.isEmpty()) {
      lacks = "upstream " + key + ": " + failure;
    } else if (found.isEmpty()) {
      lacks = "upstream " + key + ": its addresses are not known yet";
    }
    int room = Math.min(MAX_ADDRESSES - addresses, found.size());
    addresses += room;
    found.subList(0, room).forEach(each -> keys.put(UpstreamOptions.atAddress(key, each), ""));
    if (room < found.size()) {
      lacks =
          "upstream %s: %d addresses, the first %d of which are used"
              .formatted(key, found.size(), room);
    }
  }

  /** Returns whether an upstream has no known address. */
  boolean areUnknown() {
    return awaitsAddresses;
  }

  /** Returns whether a replica represents a local upstream of its node. */
  static boolean isOnNode(ReplicaRecord replica) {
    String entry = UpstreamOptions.withoutPlace(replica.upstream);
    return replica.upstream.equals(UpstreamOptions.onNode(entry, Placement.nameOf(replica.node)));
  }

  /**
   * Returns whether a key takes the place of a replica of the same server: one of them has a place,
   * and the other has none or one of the other kind. The replica must end first.
   */
  static boolean replaces(String key, ReplicaRecord replica) {
    String other = replica.upstream;
    String entry = UpstreamOptions.withoutPlace(key);
    String of = UpstreamOptions.withoutPlace(other);
    return !other.isEmpty()
        && UpstreamOptions.withoutPart(entry).equals(UpstreamOptions.withoutPart(of))
        && (key.equals(entry) != other.equals(of)
            || (UpstreamOptions.address(key) == null) != (UpstreamOptions.address(other) == null));
  }
}

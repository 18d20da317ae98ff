package dev.berth.controller;

import dev.berth.config.UpstreamOptions;
import dev.berth.controller.ControllerEvent.UpstreamReport;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** State of one upstream, in maps by replica id. Confined to the controller's loop. */
final class UpstreamState {
  final String entry; // its key without a place
  final String placeKind;
  Map<String, UpstreamGrant> grants = Map.of();
  final Map<String, UpstreamShares.ShareOwner> owners = new LinkedHashMap<>(); // known replicas
  final Map<String, UpstreamReport> reports = new HashMap<>(); // last ones
  final Map<String, Long> freeNanos = new HashMap<>(); // ends of grants, as known

  UpstreamState(String identity) {
    this.entry = UpstreamOptions.withoutPlace(identity);
    this.placeKind = UpstreamOptions.placeKind(identity);
  }

  boolean knows(String replicaId) {
    return grants.containsKey(replicaId) || owners.containsKey(replicaId);
  }

  /** Returns whether slots under a form of its key of an earlier setting may be in use. */
  boolean isHeldBy(UpstreamState other) {
    return !other.grants.isEmpty()
        && other.entry.equals(entry)
        && !other.placeKind.equals(placeKind);
  }
}

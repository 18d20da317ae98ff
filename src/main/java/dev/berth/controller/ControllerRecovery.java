package dev.berth.controller;

import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.ControllerEvent.OfReplica;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The recovery of a new controller: it waits for the inventory of each instance. Until then the
 * controller starts, stops and publishes nothing, so that routing continues as before.
 *
 * <p>Source: Ray Serve's recovery, with its time limit. In a cluster, where membership reports lost
 * instances, the wait has no time limit.
 */
final class ControllerRecovery {
  /** Maximum wait in nanoseconds: a later inventory may never come. */
  static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final Set<String> awaited = new HashSet<>(); // instances without an inventory yet
  private final Set<String> begun = new HashSet<>(); // instances present at its start
  private final Set<String> told = new HashSet<>();
  private boolean isBounded = true;

  /**
   * The found replicas, targets and builds of one application.
   *
   * @param builds of all found replicas and targets, also on nodes lost since: the claiming
   *     application discards them
   */
  record UnclaimedApplication(
      List<Found> replicas, List<DeploymentTarget> complete, Set<String> builds) {}

  private final Map<String, UnclaimedApplication> unclaimed =
      new LinkedHashMap<>(); // by application
  // by replica id, until claimed
  private final Map<String, Map<Class<?>, OfReplica>> since = new HashMap<>();
  private long untilNanos = Long.MAX_VALUE;

  void begin(Collection<String> nodes, long nowNanos) {
    begun.addAll(nodes);
    awaited.addAll(nodes);
    awaited.removeAll(told);
    untilNanos = isBounded ? nowNanos + MAX_NANOS : Long.MAX_VALUE;
  }

  /**
   * Removes the time limit: each instance will either send its inventory or be removed by {@link
   * #onNodeRemoved}.
   */
  void waitForAll() {
    if (isBounded) {
      isBounded = false;
      untilNanos = Long.MAX_VALUE;
    }
  }

  /** Returns whether an inventory is still missing. */
  boolean isPending() {
    return !awaited.isEmpty();
  }

  /** Returns whether this instance has yet to send its inventory. */
  boolean awaits(String node) {
    return awaited.contains(node);
  }

  /**
   * Stores the inventory of an instance until it is claimed; a newer one replaces it.
   *
   * @return false when recovery has ended, or did not await the instance
   */
  boolean tell(ControllerEvent.Inventory inventory, long nowNanos) {
    String node = inventory.node();
    boolean isFirst = told.add(node);
    if (isBounded ? !isFirst : !isPending() || !begun.contains(node)) {
      return false;
    }
    awaited.remove(node);
    drop(node);
    inventory.complete().forEach(each -> of(each).complete().add(each));
    for (Found found : inventory.replicas()) {
      of(found.target()).replicas().add(found);
      if (found.next() != null) {
        of(found.next());
      }
      since.put(found.info().replicaId(), new LinkedHashMap<>());
    }
    arm(nowNanos);
    return true;
  }

  /** Removes an instance and its inventory. */
  void onNodeRemoved(String node, long nowNanos) {
    begun.remove(node);
    told.remove(node);
    awaited.remove(node);
    drop(node);
    arm(nowNanos);
  }

  private void drop(String node) {
    for (UnclaimedApplication of : unclaimed.values()) {
      List<Found> its =
          of.replicas.stream().filter(it -> it.info().address().node().equals(node)).toList();
      of.replicas.removeAll(its);
      its.forEach(found -> since.remove(found.info().replicaId()));
    }
  }

  /** Starts the time limit for claims; unclaimed replicas are stopped afterwards. */
  private void arm(long nowNanos) {
    if (untilNanos == Long.MAX_VALUE && !unclaimed.isEmpty() && !isPending()) {
      untilNanos = nowNanos + MAX_NANOS;
    }
  }

  private UnclaimedApplication of(DeploymentTarget target) {
    UnclaimedApplication its =
        unclaimed.computeIfAbsent(
            target.id().application(),
            name ->
                new UnclaimedApplication(new ArrayList<>(), new ArrayList<>(), new HashSet<>()));
    its.builds.add(target.build());
    return its;
  }

  /**
   * Stores an event of an unclaimed replica; the last one of each kind is retained.
   *
   * @return false for any other replica
   */
  boolean keep(OfReplica event) {
    Map<Class<?>, OfReplica> kept = since.get(event.replicaId());
    if (kept == null) {
      return false;
    }
    kept.remove(event.getClass()); // moves the last event to the end
    kept.put(event.getClass(), event);
    return true;
  }

  /** Returns whether a replica was found and is still unclaimed. */
  boolean holds(String replicaId) {
    return since.containsKey(replicaId);
  }

  /** Returns whether an unclaimed replica represents this upstream. */
  boolean holdsUpstream(String key) {
    return unclaimed.values().stream()
        .flatMap(each -> each.replicas.stream())
        .anyMatch(found -> found.upstream().equals(key));
  }

  /** Returns and removes the events of a claimed replica since it was found. */
  Collection<OfReplica> since(Found found) {
    Map<Class<?>, OfReplica> kept = since.remove(found.info().replicaId());
    return kept == null ? List.of() : kept.values();
  }

  /** Returns and removes the findings of an application; the caller owns them. */
  UnclaimedApplication claim(String application) {
    UnclaimedApplication found = unclaimed.remove(application);
    return found == null ? new UnclaimedApplication(List.of(), List.of(), Set.of()) : found;
  }

  /** Returns the names of applications with unclaimed findings. */
  List<String> unclaimed() {
    return List.copyOf(unclaimed.keySet());
  }

  /** Returns a copy of the unclaimed builds, by application. */
  Map<String, Set<String>> builds() {
    Map<String, Set<String>> all = new HashMap<>();
    unclaimed.forEach((name, its) -> all.put(name, new HashSet<>(its.builds)));
    return all;
  }

  long nextWakeNanos() {
    return untilNanos;
  }

  /** Returns whether the time limit has passed; true once. */
  boolean ends(long nowNanos) {
    if (untilNanos == Long.MAX_VALUE || untilNanos - nowNanos > 0) {
      return false;
    }
    untilNanos = Long.MAX_VALUE;
    awaited.clear();
    return true;
  }
}

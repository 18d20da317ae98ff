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
 * What a controller that starts anew waits for: to be told what each instance hosts. Until then it
 * starts, stops and publishes nothing, so that requests flow on as before.
 *
 * <p>Source: Ray Serve's recovery, with its bound. Where a cluster says which instances are lost
 * the wait has no end but that.
 */
final class Recovery {
  /** No longer than this: an instance that has not told by then may never. */
  static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final Set<String> awaited = new HashSet<>(); // instances
  private final Set<String> begun = new HashSet<>(); // that were when it began
  private final Set<String> told = new HashSet<>();
  private boolean isBounded = true;

  /**
   * What was found of one application.
   *
   * @param builds of all that was ever found, also on nodes that are lost by now: who claims them
   *     has them discarded
   */
  record Unclaimed(List<Found> replicas, List<DeploymentTarget> complete, Set<String> builds) {}

  private final Map<String, Unclaimed> unclaimed = new LinkedHashMap<>(); // by application
  private final Map<String, Map<Class<?>, OfReplica>> since = new HashMap<>(); // by unclaimed id
  private long untilNanos = Long.MAX_VALUE;

  void begin(Collection<String> nodes, long nowNanos) {
    begun.addAll(nodes);
    awaited.addAll(nodes);
    awaited.removeAll(told);
    untilNanos = isBounded ? nowNanos + MAX_NANOS : Long.MAX_VALUE;
  }

  /** Each instance will either tell or be {@link #gone}: there is no other end. */
  void waitForAll() {
    if (isBounded) {
      isBounded = false;
      untilNanos = Long.MAX_VALUE;
    }
  }

  /** Whether an instance has yet to tell. */
  boolean isPending() {
    return !awaited.isEmpty();
  }

  /** Returns whether this instance has yet to send its inventory. */
  boolean awaits(String node) {
    return awaited.contains(node);
  }

  /**
   * Keeps what an instance hosts until somebody claims it, in place of what it told before.
   *
   * @return false when nobody may: its time is over, or it was not there when that began
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

  /** An instance is there no more, nor is what it told. */
  void gone(String node, long nowNanos) {
    begun.remove(node);
    told.remove(node);
    awaited.remove(node);
    drop(node);
    arm(nowNanos);
  }

  private void drop(String node) {
    for (Unclaimed of : unclaimed.values()) {
      List<Found> its =
          of.replicas.stream().filter(it -> it.info().address().node().equals(node)).toList();
      of.replicas.removeAll(its);
      its.forEach(found -> since.remove(found.info().replicaId()));
    }
  }

  /** What nobody claims by then nobody wants. */
  private void arm(long nowNanos) {
    if (untilNanos == Long.MAX_VALUE && !unclaimed.isEmpty() && !isPending()) {
      untilNanos = nowNanos + MAX_NANOS;
    }
  }

  private Unclaimed of(DeploymentTarget target) {
    Unclaimed its =
        unclaimed.computeIfAbsent(
            target.id().application(),
            name -> new Unclaimed(new ArrayList<>(), new ArrayList<>(), new HashSet<>()));
    its.builds.add(target.build());
    return its;
  }

  /**
   * Keeps what happens to a replica that was found and is nobody's yet, the last of each kind.
   *
   * @return false when it is none of those
   */
  boolean keep(OfReplica event) {
    Map<Class<?>, OfReplica> kept = since.get(event.replicaId());
    if (kept == null) {
      return false;
    }
    kept.remove(event.getClass()); // the last one takes its place in time
    kept.put(event.getClass(), event);
    return true;
  }

  /** Returns whether a replica was found that nobody has claimed yet. */
  boolean holds(String replicaId) {
    return since.containsKey(replicaId);
  }

  /** What has happened to a replica since it was found; asked once, when it was claimed. */
  Collection<OfReplica> since(Found found) {
    Map<Class<?>, OfReplica> kept = since.remove(found.info().replicaId());
    return kept == null ? List.of() : kept.values();
  }

  /** What was found of an application; it is the caller's from then on. */
  Unclaimed claim(String application) {
    Unclaimed found = unclaimed.remove(application);
    return found == null ? new Unclaimed(List.of(), List.of(), Set.of()) : found;
  }

  /** Names of applications of which something was found that nobody has claimed. */
  List<String> unclaimed() {
    return List.copyOf(unclaimed.keySet());
  }

  /** Returns a copy of the builds of what nobody has claimed, by application. */
  Map<String, Set<String>> builds() {
    Map<String, Set<String>> all = new HashMap<>();
    unclaimed.forEach((name, its) -> all.put(name, new HashSet<>(its.builds)));
    return all;
  }

  long nextWakeNanos() {
    return untilNanos;
  }

  /** Whether the wait is over by now; true once. */
  boolean ends(long nowNanos) {
    if (untilNanos == Long.MAX_VALUE || untilNanos - nowNanos > 0) {
      return false;
    }
    untilNanos = Long.MAX_VALUE;
    awaited.clear();
    return true;
  }
}

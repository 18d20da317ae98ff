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
 * <p>Source: Ray Serve's recovery, with its bound.
 */
final class Recovery {
  /** No longer than this: an instance that has not told by then may never. */
  static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final Set<String> awaited = new HashSet<>(); // instances
  private final Set<String> told = new HashSet<>();

  /** What was found of one application. */
  record Unclaimed(List<Found> replicas, List<DeploymentTarget> complete) {}

  private final Map<String, Unclaimed> unclaimed = new LinkedHashMap<>(); // by application
  private final Map<String, Map<Class<?>, OfReplica>> since = new HashMap<>(); // by unclaimed id
  private long untilNanos = Long.MAX_VALUE;

  void begin(Collection<String> nodes, long nowNanos) {
    awaited.addAll(nodes);
    awaited.removeAll(told);
    untilNanos = nowNanos + MAX_NANOS;
  }

  /** Whether an instance has yet to tell. */
  boolean isPending() {
    return !awaited.isEmpty();
  }

  /** Keeps what an instance hosts until somebody claims it; false when it was told before. */
  boolean tell(ControllerEvent.Inventory inventory, long nowNanos) {
    awaited.remove(inventory.node());
    if (!told.add(inventory.node())) {
      return false;
    }
    inventory.complete().forEach(each -> of(each).complete().add(each));
    for (Found found : inventory.replicas()) {
      of(found.target()).replicas().add(found);
      since.put(found.info().replicaId(), new LinkedHashMap<>());
    }
    if (untilNanos == Long.MAX_VALUE && !unclaimed.isEmpty()) {
      untilNanos = nowNanos + MAX_NANOS;
    }
    return true;
  }

  private Unclaimed of(DeploymentTarget target) {
    return unclaimed.computeIfAbsent(
        target.id().application(), name -> new Unclaimed(new ArrayList<>(), new ArrayList<>()));
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

  /** What has happened to a replica since it was found; asked once, when it was claimed. */
  Collection<OfReplica> since(Found found) {
    Map<Class<?>, OfReplica> kept = since.remove(found.info().replicaId());
    return kept == null ? List.of() : kept.values();
  }

  /** What was found of an application; it is the caller's from then on. */
  Unclaimed claim(String application) {
    Unclaimed found = unclaimed.remove(application);
    return found == null ? new Unclaimed(List.of(), List.of()) : found;
  }

  /** Names of applications of which something was found that nobody has claimed. */
  List<String> unclaimed() {
    return List.copyOf(unclaimed.keySet());
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

package dev.berth.controller;

import dev.berth.controller.ControllerEvent.Inventory.Found;
import java.util.ArrayList;
import java.util.Collection;
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
  private final Map<String, List<Found>> unclaimed = new LinkedHashMap<>(); // by application
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
    for (Found found : inventory.replicas()) {
      unclaimed
          .computeIfAbsent(found.target().id().application(), name -> new ArrayList<>())
          .add(found);
    }
    if (untilNanos == Long.MAX_VALUE && !unclaimed.isEmpty()) {
      untilNanos = nowNanos + MAX_NANOS;
    }
    return true;
  }

  /** The replicas found of an application; they are the caller's from then on. */
  List<Found> claim(String application) {
    List<Found> found = unclaimed.remove(application);
    return found == null ? List.of() : found;
  }

  /** Names of applications of which replicas were found that nobody has claimed. */
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

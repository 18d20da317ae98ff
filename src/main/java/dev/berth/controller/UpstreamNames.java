package dev.berth.controller;

import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.ResolveUpstream;
import dev.berth.controller.ControllerEvent.UpstreamResolved;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * The addresses of upstreams' host names, looked up while a deployment wants them. Confined to the
 * controller's loop.
 *
 * <p>An address counts from its first answer until three answers in a row lack it. A failed look-up
 * changes nothing. The address of a found replica counts like an answered one.
 */
final class UpstreamNames {
  private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(5);
  private static final int MAX_MISSES = 3;

  private static final class HostName {
    final Set<DeploymentState> wanting = new LinkedHashSet<>();
    final Map<String, Integer> misses = new TreeMap<>(); // answers in a row without it, by address
    String failure = ""; // of the last look-up
    boolean pending;
    long dueNanos;

    HostName(long dueNanos) {
      this.dueNanos = dueNanos;
    }
  }

  private final Map<String, HostName> all = new LinkedHashMap<>(); // by name

  /** Sets the names that a deployment wants by its present target. */
  void want(DeploymentState deployment, ReconcilePass turn) {
    DeploymentTarget made = deployment.deleting ? null : deployment.startTarget();
    Set<String> names = new HashSet<>();
    if (made != null && UpstreamOptions.isGiven(made.settings())) {
      made.settings().all(DeploymentConfig.UPSTREAMS).stream()
          .filter(UpstreamOptions::isByAddress)
          .forEach(entry -> names.add(entry.get(UpstreamOptions.URL).host()));
    }
    all.forEach((name, of) -> of.wanting.removeIf(it -> it == deployment && !names.contains(name)));
    all.values().removeIf(of -> of.wanting.isEmpty());
    boolean wantsMore = false;
    for (String name : names) {
      HostName of = all.computeIfAbsent(name, none -> new HostName(turn.nowNanos));
      wantsMore |= of.wanting.add(deployment);
    }
    if (wantsMore) {
      deployment.replicas.values().forEach(this::onReplicaAdded);
      wake(turn);
    }
  }

  void forget(DeploymentState deployment) {
    all.values().forEach(of -> of.wanting.remove(deployment));
    all.values().removeIf(of -> of.wanting.isEmpty());
  }

  /** Retains the address of a replica that an earlier controller started. */
  void onReplicaAdded(ReplicaRecord replica) {
    String address = UpstreamOptions.address(replica.upstream);
    Settings entry =
        address == null ? null : UpstreamOptions.find(replica.target.settings(), replica.upstream);
    HostName of = entry == null ? null : all.get(entry.get(UpstreamOptions.URL).host());
    if (of != null && of.wanting.contains(replica.deployment)) {
      of.misses.putIfAbsent(address, 0);
    }
  }

  void onResolved(UpstreamResolved event, ReconcilePass turn) {
    HostName of = all.get(event.name());
    if (of == null) {
      return;
    }
    of.pending = false;
    Set<String> before = Set.copyOf(of.misses.keySet());
    String failed = of.failure;
    of.failure = event.addresses().isEmpty() ? "not resolved: " + event.failure() : "";
    if (!event.addresses().isEmpty()) {
      of.misses.replaceAll((each, misses) -> event.addresses().contains(each) ? 0 : misses + 1);
      of.misses.values().removeIf(misses -> misses >= MAX_MISSES);
      event.addresses().forEach(each -> of.misses.putIfAbsent(each, 0));
    }
    if (!before.equals(of.misses.keySet()) || !failed.equals(of.failure)) {
      of.wanting.forEach(turn::touch);
    }
  }

  /** Returns the addresses of a name, sorted by their text; none before the first answer. */
  List<String> addresses(String name) {
    HostName of = all.get(name);
    return of == null ? List.of() : List.copyOf(of.misses.keySet());
  }

  /** Returns the reason of a failed look-up; empty for none. */
  String failure(String name) {
    HostName of = all.get(name);
    return of == null ? "" : of.failure;
  }

  /** Looks the due names up, each once at a time. */
  void wake(ReconcilePass turn) {
    all.forEach(
        (name, of) -> {
          if (!of.pending && of.dueNanos - turn.nowNanos <= 0) {
            of.pending = true;
            of.dueNanos = turn.nowNanos + INTERVAL_NANOS;
            turn.add(new ResolveUpstream(name));
          }
        });
  }

  long nextWakeNanos() {
    return all.values().stream()
        .filter(of -> !of.pending)
        .mapToLong(of -> of.dueNanos)
        .min()
        .orElse(Long.MAX_VALUE);
  }
}

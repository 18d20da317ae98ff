package dev.berth.desired;

import dev.berth.controller.UpstreamGrant;
import dev.berth.protocol.json.RecordReader;
import dev.berth.protocol.json.RecordWriter;
import io.vertx.core.json.JsonObject;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a cluster, as its control nodes have agreed. Immutable.
 *
 * @param cluster random id from the first entry of its log; empty without a cluster
 * @param generation of the controllers, from 1; 0 without a cluster. Together with the controller's
 *     term it forms the epoch of a command
 * @param origin identity of the journal that the first entry imported; empty for none
 * @param last last assigned registration; none is assigned twice
 * @param nodes registered nodes, by name; lost nodes and those that left are removed
 * @param cordoned names of nodes that get no replicas, across restarts of their processes
 * @param standsBy why the controller sends no commands until nodes are adopted; null when it is
 *     active
 * @param grants of upstreams, in their order; null in the log of an earlier version
 */
public record NodeRegistry(
    String cluster,
    long generation,
    String origin,
    long last,
    Map<String, RegisteredProcess> nodes,
    Set<String> cordoned,
    @Nullable String standsBy,
    @Nullable List<UpstreamGrant> grants) {
  /** Maximum number of cordoned names. */
  public static final int MAX_CORDONED = 1_000;

  /** Registry without a cluster. */
  public static final NodeRegistry NONE =
      new NodeRegistry("", 0, "", 0, Map.of(), Set.of(), null, null);

  /**
   * A registered node, until its loss or leave is committed.
   *
   * @param process random id from its start, hexadecimal
   * @param registration from 1, compared for equality alone
   */
  public record RegisteredProcess(String process, long registration) {}

  public NodeRegistry {
    nodes = Collections.unmodifiableSortedMap(new TreeMap<>(nodes)); // same order on all nodes
    cordoned = Collections.unmodifiableSortedSet(new TreeSet<>(cordoned));
    grants = grants == null || grants.isEmpty() ? null : List.copyOf(grants);
  }

  /** Returns the registry of a new cluster, without nodes. */
  public static NodeRegistry born(String cluster, String origin) {
    return new NodeRegistry(cluster, 1, origin, 0, Map.of(), Set.of(), null, null);
  }

  /** Returns the process with a name; null when there is none. */
  public @Nullable RegisteredProcess find(String node) {
    return nodes.get(node);
  }

  /**
   * Registers a process under a name with the next registration. A name in use changes nothing: its
   * own process keeps its registration, and another one must retry.
   */
  public NodeRegistry with(String node, String process) {
    return nodes.containsKey(node)
        ? this
        : having(node, new RegisteredProcess(process, last + 1), last + 1);
  }

  /** Removes a lost or ended registration; changes nothing when it was removed before. */
  public NodeRegistry without(String node, long registration) {
    RegisteredProcess known = find(node);
    return known == null || known.registration != registration ? this : having(node, null, last);
  }

  private NodeRegistry having(String node, @Nullable RegisteredProcess now, long last) {
    Map<String, RegisteredProcess> all = new HashMap<>(nodes);
    all.compute(node, (name, before) -> now);
    return new NodeRegistry(cluster, generation, origin, last, all, cordoned, standsBy, grants);
  }

  /** Cordons a name, or ends its cordon. */
  public NodeRegistry cordon(String node, boolean on) {
    Set<String> names = new HashSet<>(cordoned);
    boolean differs = on ? names.add(node) : names.remove(node);
    return differs
        ? new NodeRegistry(cluster, generation, origin, last, nodes, names, standsBy, grants)
        : this;
  }

  /** Makes the controller stand by, across restarts. */
  public NodeRegistry standingBy(String reason) {
    return new NodeRegistry(cluster, generation, origin, last, nodes, cordoned, reason, grants);
  }

  /** Returns the grants of upstreams, in their order. */
  public List<UpstreamGrant> upstreamGrants() {
    return Objects.requireNonNullElse(grants, List.of());
  }

  /**
   * Changes grants of upstreams. Nothing changes for an upstream whose grants would then have more
   * slots than its limit, and more than before.
   *
   * @param changed new and changed grants
   * @param ended replica ids of removed ones
   * @param limits maximum of each changed upstream
   */
  public NodeRegistry withGrants(
      List<UpstreamGrant> changed, Set<String> ended, Map<String, Integer> limits) {
    Map<String, UpstreamGrant> all = new LinkedHashMap<>();
    upstreamGrants().forEach(each -> all.put(each.replicaId(), each));
    changed.forEach(each -> all.put(each.replicaId(), each));
    all.keySet().removeAll(ended);
    Set<String> exceeded = new HashSet<>();
    limits.forEach(
        (upstream, limit) -> {
          if (sum(all.values(), upstream) > Math.max(limit, sum(upstreamGrants(), upstream))) {
            exceeded.add(upstream);
          }
        });
    all.values().removeIf(each -> exceeded.contains(each.upstream()));
    upstreamGrants().stream()
        .filter(each -> exceeded.contains(each.upstream()))
        .forEach(each -> all.put(each.replicaId(), each));
    List<UpstreamGrant> next = all.values().stream().sorted(UpstreamGrant.ORDER).toList();
    return next.equals(upstreamGrants())
        ? this
        : new NodeRegistry(cluster, generation, origin, last, nodes, cordoned, standsBy, next);
  }

  private static int sum(Collection<UpstreamGrant> grants, String upstream) {
    return grants.stream()
        .filter(each -> each.upstream().equals(upstream))
        .mapToInt(UpstreamGrant::maximum)
        .sum();
  }

  /**
   * Adopts nodes with their registrations, from any earlier controller. The next generation exceeds
   * this one and all of theirs, so that earlier commands are outdated.
   *
   * @param id cluster id that the nodes know and retain for life
   */
  NodeRegistry adopting(String id, List<FirstCaller> callers) {
    long next = generation;
    long highest = last;
    Map<String, RegisteredProcess> all = new HashMap<>(nodes);
    for (FirstCaller each : callers) {
      next = Math.max(next, each.generation());
      highest = Math.max(highest, each.registration());
      all.put(each.node(), new RegisteredProcess(each.process(), each.registration()));
    }
    return new NodeRegistry(id, next + 1, origin, highest, all, cordoned, null, grants);
  }

  // --- persisted form ---

  JsonObject toJson() {
    return new RecordWriter().record(this);
  }

  static NodeRegistry of(JsonObject json) {
    return new RecordReader().record("nodes", json, NodeRegistry.class);
  }
}

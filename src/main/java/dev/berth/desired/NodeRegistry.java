package dev.berth.desired;

import dev.berth.protocol.json.RecordReader;
import dev.berth.protocol.json.RecordWriter;
import io.vertx.core.json.JsonObject;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Who belongs to a cluster, as its control nodes have agreed. Immutable.
 *
 * @param cluster its id, random, born with the first entry of its log; empty without a cluster
 * @param generation of those who command, from 1; 0 without a cluster. With the controller's term
 *     behind it, it is the epoch of a command
 * @param origin the journal that the first entry took in, as it says; empty for none
 * @param last the registration that was given last; none is given twice
 * @param nodes that are neither lost nor have left, by name
 * @param cordoned names of those that are to get no replicas, whatever becomes of their processes
 * @param standsBy why the controller commands nobody, until nodes are adopted; null when it does
 */
public record NodeRegistry(
    String cluster,
    long generation,
    String origin,
    long last,
    Map<String, Registered> nodes,
    Set<String> cordoned,
    @Nullable String standsBy) {
  /** Names that may be cordoned at a time. */
  public static final int MOST_CORDONED = 1_000;

  /** Without a cluster. */
  public static final NodeRegistry NONE = new NodeRegistry("", 0, "", 0, Map.of(), Set.of(), null);

  /**
   * A node of which neither its loss nor its goodbye was committed since it came.
   *
   * @param process random, made when it started, hexadecimal
   * @param registration from 1, compared for equality alone
   */
  public record Registered(String process, long registration) {}

  public NodeRegistry {
    nodes = Collections.unmodifiableSortedMap(new TreeMap<>(nodes)); // in one order everywhere
    cordoned = Collections.unmodifiableSortedSet(new TreeSet<>(cordoned));
  }

  /** A cluster without nodes. */
  public static NodeRegistry born(String cluster, String origin) {
    return new NodeRegistry(cluster, 1, origin, 0, Map.of(), Set.of(), null);
  }

  /** Null when no process has that name. */
  public @Nullable Registered find(String node) {
    return nodes.get(node);
  }

  /**
   * A process comes under a name: it keeps its registration, or gets the next one. While the name
   * is another's nothing is different, and it is to come again.
   */
  public NodeRegistry with(String node, String process) {
    return nodes.containsKey(node)
        ? this
        : having(node, new Registered(process, last + 1), last + 1);
  }

  /** A registration is lost, or was given back; nothing is different when it was before. */
  public NodeRegistry without(String node, long registration) {
    Registered known = find(node);
    return known == null || known.registration != registration ? this : having(node, null, last);
  }

  private NodeRegistry having(String node, @Nullable Registered now, long last) {
    Map<String, Registered> all = new HashMap<>(nodes);
    all.compute(node, (name, before) -> now);
    return new NodeRegistry(cluster, generation, origin, last, all, cordoned, standsBy);
  }

  /** Replicas are kept from a name, or are not any more. */
  public NodeRegistry cordon(String node, boolean on) {
    Set<String> names = new HashSet<>(cordoned);
    boolean differs = on ? names.add(node) : names.remove(node);
    return differs
        ? new NodeRegistry(cluster, generation, origin, last, nodes, names, standsBy)
        : this;
  }

  /** The controller commands nobody, over restarts. */
  public NodeRegistry standingBy(String reason) {
    return new NodeRegistry(cluster, generation, origin, last, nodes, cordoned, reason);
  }

  /**
   * Nodes belong to this cluster as they are, whoever commanded them; commands of this generation,
   * and of any up to theirs, are older from now on.
   *
   * @param id of the cluster that they know, which they keep for life
   */
  NodeRegistry adopting(String id, List<FirstCaller> callers) {
    long next = generation;
    long highest = last;
    Map<String, Registered> all = new HashMap<>(nodes);
    for (FirstCaller each : callers) {
      next = Math.max(next, each.generation());
      highest = Math.max(highest, each.registration());
      all.put(each.node(), new Registered(each.process(), each.registration()));
    }
    return new NodeRegistry(id, next + 1, origin, highest, all, cordoned, null);
  }

  // --- as it is kept ---

  JsonObject toJson() {
    return new RecordWriter().record(this);
  }

  static NodeRegistry of(JsonObject json) {
    return new RecordReader().record("nodes", json, NodeRegistry.class);
  }
}

package dev.berth.desired;

import dev.berth.config.InstanceOptions;
import dev.berth.desired.DesiredApplication.EarlierRevision;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The difference that one command makes in the {@link DesiredState}. Its size is that of the
 * difference, and it contains everything that must be written to persist it.
 *
 * @param index of the resulting state: one more than that of the state it was computed on, and its
 *     number in the log
 * @param applications new or changed ones, in their new form
 * @param removed names of removed applications
 * @param applied changed last applied configurations, by application
 * @param answers result of the command, if it has an id
 * @param history earlier revisions that replace the known ones, by application; set in a change
 *     that makes a whole state, and otherwise derived
 * @param autoscaled numbers of autoscaled deployments that replace those of an application, by
 *     application and deployment
 * @param nodes registry of the cluster; null when unchanged
 * @param chain digest of an operator's command and all before it, by its index; empty for other
 *     changes. A change that makes a whole state contains all stored digests
 * @param head numbers of the state
 */
public record DesiredChange(
    long index,
    List<DesiredApplication> applications,
    List<String> removed,
    Map<String, LastApplied> applied,
    List<CommandResult> answers,
    Map<String, List<EarlierRevision>> history,
    AutoscaledReplicaCounts autoscaled,
    @Nullable NodeRegistry nodes,
    Map<Long, String> chain,
    Head head) {

  /**
   * The numbers of the state that belong to no application.
   *
   * @param revision last assigned revision
   * @param term of the last controller; 0 before the first
   * @param targetCapacity percent of the replicas that run; null when unset
   * @param rises whether the capacity was lower before
   * @param lastCapacity of the last file or command
   * @param keeps maximum number of earlier revisions of each application
   * @param forgotten revisions up to this one were removed from the history to free space
   * @param splits weights set on endpoints since, by route and {@code application#deployment}
   */
  public record Head(
      long revision,
      long term,
      @Nullable Double targetCapacity,
      boolean rises,
      LastApplied lastCapacity,
      int keeps,
      long forgotten,
      Map<String, Map<String, Double>> splits) {

    /** Numbers of the initial state. */
    static final Head FIRST =
        new Head(
            0, 0, null, false, LastApplied.NOTHING, InstanceOptions.DEFAULT_REVISIONS, 0, Map.of());

    /** Returns the numbers after the start of a controller, with its limit of earlier revisions. */
    Head withTerm(long other, int keeps) {
      return new Head(
          revision, other, targetCapacity, rises, lastCapacity, keeps, forgotten, splits);
    }

    Head withRevision(long other) {
      return new Head(other, term, targetCapacity, rises, lastCapacity, keeps, forgotten, splits);
    }

    /**
     * Returns the numbers after a change of the capacity. Source: Ray Serve's
     * calculate_target_capacity_direction.
     */
    Head withCapacity(@Nullable Double capacity, LastApplied applied) {
      Double from = targetCapacity == null && revision == 0 ? Double.valueOf(0) : targetCapacity;
      boolean up = capacity != null && from != null && capacity > from;
      boolean goesUp = Objects.equals(capacity, targetCapacity) ? rises : up;
      return new Head(revision, term, capacity, goesUp, applied, keeps, forgotten, splits);
    }

    Head forgetting(long upTo) {
      return new Head(revision, term, targetCapacity, rises, lastCapacity, keeps, upTo, splits);
    }

    Head splitting(String route, Map<String, Double> weights) {
      Map<String, Map<String, Double>> all = new LinkedHashMap<>(splits);
      all.put(route, Map.copyOf(weights));
      return new Head(
          revision, term, targetCapacity, rises, lastCapacity, keeps, forgotten, Map.copyOf(all));
    }
  }

  public DesiredChange {
    applications = List.copyOf(applications);
    removed = List.copyOf(removed);
    applied = Collections.unmodifiableMap(new LinkedHashMap<>(applied));
    answers = List.copyOf(answers);
    history = Map.copyOf(history);
    chain = Map.copyOf(chain);
  }

  /** Returns the same change with the result of a command that has an id. */
  DesiredChange answering(CommandResult answer) {
    return with(List.of(answer), nodes, chain);
  }

  /** Returns the same change with another node registry. */
  DesiredChange of(NodeRegistry others) {
    return with(answers, others, chain);
  }

  /** Returns the same change as an operator's command, recorded by this digest. */
  DesiredChange chained(Map<Long, String> digest) {
    return with(answers, nodes, digest);
  }

  private DesiredChange with(
      List<CommandResult> answers, @Nullable NodeRegistry nodes, Map<Long, String> chain) {
    return new DesiredChange(
        index, applications, removed, applied, answers, history, autoscaled, nodes, chain, head);
  }

  /** Returns null when the change is empty, and the change itself otherwise. */
  @Nullable DesiredChange unlessEmpty(Head before) {
    boolean same = applications.isEmpty() && removed.isEmpty() && applied.isEmpty();
    return same && autoscaled.all().isEmpty() && head.equals(before) ? null : this;
  }

  /** Returns the persisted form, without its index. */
  public JsonObject toJson() {
    JsonObject json =
        nodes == null ? new JsonObject() : new JsonObject().put("nodes", nodes.toJson());
    return json.put("revision", head.revision())
        .put("term", head.term())
        .put("keeps", head.keeps())
        .put("forgotten", head.forgotten())
        .put("said_capacity", head.lastCapacity().toJson())
        .put("target_capacity", head.targetCapacity())
        .put("capacity_rises", head.rises())
        .put("said", object(applied, LastApplied::toJson))
        .put("answers", array(answers, CommandResult::toJson))
        .put("chain", object(chain, each -> each))
        .put("history", object(history, each -> array(each, EarlierRevision::toJson)))
        .put("autoscaled", autoscaled.toJson())
        .put("splits", object(head.splits(), each -> new JsonObject(Map.copyOf(each))))
        .put("applications", array(applications, DesiredApplication::toJson))
        .put("removed", new JsonArray(removed));
  }

  static <T> JsonArray array(Collection<T> list, Function<T, ?> toJson) {
    return new JsonArray(list.stream().map(toJson).toList());
  }

  static <T> JsonObject object(Map<?, T> map, Function<T, Object> toJson) {
    JsonObject json = new JsonObject();
    map.forEach((name, each) -> json.put(name.toString(), toJson.apply(each)));
    return json;
  }

  /**
   * Reads the output of {@link #toJson}, also from versions without histories.
   *
   * @throws RuntimeException of any type for other input
   */
  public static DesiredChange of(long index, JsonObject json) {
    return new DesiredChange(
        index,
        list(json.getJsonArray("applications"), DesiredApplication::of),
        json.getJsonArray("removed").stream().map(String.class::cast).toList(),
        map(json.getJsonObject("said"), each -> LastApplied.of((JsonObject) each)),
        list(json.getJsonArray("answers", new JsonArray()), CommandResult::of),
        map(
            json.getJsonObject("history", new JsonObject()),
            each -> list((JsonArray) each, EarlierRevision::of)),
        AutoscaledReplicaCounts.of(json.getJsonObject("autoscaled", new JsonObject())),
        json.containsKey("nodes") ? NodeRegistry.of(json.getJsonObject("nodes")) : null,
        json.getJsonObject("chain", new JsonObject()).stream()
            .collect(
                Collectors.toMap(
                    each -> Long.valueOf(each.getKey()), each -> (String) each.getValue())),
        new Head(
            json.getLong("revision"),
            json.getLong("term"),
            json.getDouble("target_capacity"),
            json.getBoolean("capacity_rises", false),
            LastApplied.of(json.getJsonObject("said_capacity")),
            json.getInteger("keeps", InstanceOptions.DEFAULT_REVISIONS),
            json.getLong("forgotten", 0L),
            map(json.getJsonObject("splits", new JsonObject()), DesiredChange::weights)));
  }

  private static Map<String, Double> weights(Object said) {
    JsonObject json = (JsonObject) said;
    return json.fieldNames().stream().collect(Collectors.toMap(name -> name, json::getDouble));
  }

  private static <T> List<T> list(JsonArray array, Function<JsonObject, T> of) {
    return array.stream().map(JsonObject.class::cast).map(of).toList();
  }

  static <T> Map<String, T> map(JsonObject json, Function<Object, T> of) {
    Map<String, T> map = new LinkedHashMap<>();
    json.forEach(each -> map.put(each.getKey(), of.apply(each.getValue())));
    return map;
  }
}

package dev.berth.desired;

import dev.berth.api.DeploymentId;
import dev.berth.controller.AutoscaledReplicaCount;
import io.vertx.core.json.JsonObject;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The persisted numbers of autoscaled deployments, by application and deployment. Immutable. */
record AutoscaledReplicaCounts(Map<String, Map<String, AutoscaledReplicaCount>> all) {
  static final AutoscaledReplicaCounts NONE = new AutoscaledReplicaCounts(Map.of());

  AutoscaledReplicaCounts {
    all = Map.copyOf(all);
  }

  /** Returns the numbers of one application, by deployment. */
  Map<String, AutoscaledReplicaCount> of(String application) {
    return all.getOrDefault(application, Map.of());
  }

  @Nullable AutoscaledReplicaCount find(DeploymentId id) {
    return of(id.application()).get(id.name());
  }

  /** Returns these numbers after a change. */
  AutoscaledReplicaCounts with(DesiredChange change) {
    if (change.removed().isEmpty() && change.autoscaled().all.isEmpty()) {
      return this;
    }
    Map<String, Map<String, AutoscaledReplicaCount>> next = new HashMap<>(all);
    next.keySet().removeAll(change.removed());
    next.putAll(change.autoscaled().all);
    return new AutoscaledReplicaCounts(next);
  }

  // --- changes, with all numbers of each changed application ---

  private AutoscaledReplicaCounts computeChange(
      Map<DeploymentId, @Nullable AutoscaledReplicaCount> now, Predicate<DeploymentId> counts) {
    Map<String, Map<String, AutoscaledReplicaCount>> news = new LinkedHashMap<>();
    now.forEach(
        (id, each) -> {
          if (!Objects.equals(each, find(id)) && counts.test(id)) {
            news.computeIfAbsent(id.application(), name -> new TreeMap<>(of(name)))
                .compute(id.name(), (name, before) -> each);
          }
        });
    return new AutoscaledReplicaCounts(news);
  }

  /**
   * Returns the changes found by autoscaling. While autoscaling is paused, the operator's number
   * stays.
   *
   * @param found null for a deployment that was deleted or does not autoscale any longer
   * @param there whether an application of that name is declared
   */
  AutoscaledReplicaCounts computeScalingChange(
      Map<DeploymentId, @Nullable AutoscaledReplicaCount> found, Predicate<String> there) {
    return computeChange(
        found,
        id -> {
          AutoscaledReplicaCount known = find(id);
          boolean holds = known != null && known.paused() && found.get(id) != null;
          return !holds && there.test(id.application());
        });
  }

  /**
   * Returns the change that pauses or resumes autoscaling of a deployment.
   *
   * @param replicas null to resume from the last number
   */
  AutoscaledReplicaCounts computePauseChange(DeploymentId id, @Nullable Integer replicas) {
    AutoscaledReplicaCount known = find(id);
    if (known == null && replicas == null) {
      return NONE;
    }
    int last = replicas != null ? replicas : known.replicas();
    String state = known == null ? null : known.policyState();
    return computeChange(
        Map.of(id, new AutoscaledReplicaCount(last, replicas != null, state)), each -> true);
  }

  // --- persisted form ---

  JsonObject toJson() {
    return DesiredChange.object(
        all, own -> DesiredChange.object(own, AutoscaledReplicaCounts::json));
  }

  private static JsonObject json(AutoscaledReplicaCount now) {
    return new JsonObject()
        .put("replicas", now.replicas())
        .put("paused", now.paused())
        .put("policy_state", now.policyState());
  }

  static AutoscaledReplicaCounts of(JsonObject json) {
    return new AutoscaledReplicaCounts(
        DesiredChange.map(
            json, own -> DesiredChange.map((JsonObject) own, AutoscaledReplicaCounts::autoscaled)));
  }

  private static AutoscaledReplicaCount autoscaled(Object json) {
    JsonObject now = (JsonObject) json;
    return new AutoscaledReplicaCount(
        now.getInteger("replicas"), now.getBoolean("paused"), now.getString("policy_state"));
  }
}

package dev.berth.desired;

import dev.berth.api.DeploymentId;
import dev.berth.controller.Autoscaled;
import io.vertx.core.json.JsonObject;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The persisted numbers of autoscaled deployments, by application and deployment. Immutable. */
record AutoscaledNumbers(Map<String, Map<String, Autoscaled>> all) {
  static final AutoscaledNumbers NONE = new AutoscaledNumbers(Map.of());

  AutoscaledNumbers {
    all = Map.copyOf(all);
  }

  /** Returns the numbers of one application, by deployment. */
  Map<String, Autoscaled> of(String application) {
    return all.getOrDefault(application, Map.of());
  }

  @Nullable Autoscaled find(DeploymentId id) {
    return of(id.application()).get(id.name());
  }

  /** Returns these numbers after a change. */
  AutoscaledNumbers with(DesiredChange change) {
    if (change.removed().isEmpty() && change.autoscaled().all.isEmpty()) {
      return this;
    }
    Map<String, Map<String, Autoscaled>> next = new HashMap<>(all);
    next.keySet().removeAll(change.removed());
    next.putAll(change.autoscaled().all);
    return new AutoscaledNumbers(next);
  }

  // --- changes, with all numbers of each changed application ---

  private AutoscaledNumbers changed(
      Map<DeploymentId, @Nullable Autoscaled> now, Predicate<DeploymentId> counts) {
    Map<String, Map<String, Autoscaled>> news = new LinkedHashMap<>();
    now.forEach(
        (id, each) -> {
          if (!Objects.equals(each, find(id)) && counts.test(id)) {
            news.computeIfAbsent(id.application(), name -> new TreeMap<>(of(name)))
                .compute(id.name(), (name, before) -> each);
          }
        });
    return new AutoscaledNumbers(news);
  }

  /**
   * Returns the changes found by autoscaling. While autoscaling is paused, the operator's number
   * stays.
   *
   * @param found null for a deployment that was deleted or does not autoscale any longer
   * @param there whether an application of that name is declared
   */
  AutoscaledNumbers found(Map<DeploymentId, @Nullable Autoscaled> found, Predicate<String> there) {
    return changed(
        found,
        id -> {
          Autoscaled known = find(id);
          boolean holds = known != null && known.paused() && found.get(id) != null;
          return !holds && there.test(id.application());
        });
  }

  /**
   * Returns the change that pauses or resumes autoscaling of a deployment.
   *
   * @param replicas null to resume from the last number
   */
  AutoscaledNumbers paused(DeploymentId id, @Nullable Integer replicas) {
    Autoscaled known = find(id);
    if (known == null && replicas == null) {
      return NONE;
    }
    int last = replicas != null ? replicas : known.replicas();
    String state = known == null ? null : known.policyState();
    return changed(Map.of(id, new Autoscaled(last, replicas != null, state)), each -> true);
  }

  // --- persisted form ---

  JsonObject toJson() {
    return DesiredChange.object(all, own -> DesiredChange.object(own, AutoscaledNumbers::json));
  }

  private static JsonObject json(Autoscaled now) {
    return new JsonObject()
        .put("replicas", now.replicas())
        .put("paused", now.paused())
        .put("policy_state", now.policyState());
  }

  static AutoscaledNumbers of(JsonObject json) {
    return new AutoscaledNumbers(
        DesiredChange.map(
            json, own -> DesiredChange.map((JsonObject) own, AutoscaledNumbers::autoscaled)));
  }

  private static Autoscaled autoscaled(Object json) {
    JsonObject now = (JsonObject) json;
    return new Autoscaled(
        now.getInteger("replicas"), now.getBoolean("paused"), now.getString("policy_state"));
  }
}

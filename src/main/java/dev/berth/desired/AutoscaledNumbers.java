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

/** What is kept of deployments that follow their load, by application and deployment. Immutable. */
record AutoscaledNumbers(Map<String, Map<String, Autoscaled>> all) {
  static final AutoscaledNumbers NONE = new AutoscaledNumbers(Map.of());

  AutoscaledNumbers {
    all = Map.copyOf(all);
  }

  /** Of one application. */
  Map<String, Autoscaled> of(String application) {
    return all.getOrDefault(application, Map.of());
  }

  @Nullable Autoscaled find(DeploymentId id) {
    return of(id.application()).get(id.name());
  }

  /** These after a change. */
  AutoscaledNumbers with(DesiredChange change) {
    if (change.removed().isEmpty() && change.autoscaled().all.isEmpty()) {
      return this;
    }
    Map<String, Map<String, Autoscaled>> next = new HashMap<>(all);
    next.keySet().removeAll(change.removed());
    next.putAll(change.autoscaled().all);
    return new AutoscaledNumbers(next);
  }

  // --- what becomes different, of each application whole ---

  /**
   * Where autoscaling is paused the number that an operator set stays.
   *
   * @param found null of a deployment that is gone, or follows its load no more
   * @param there whether there is an application of that name
   */
  AutoscaledNumbers found(Map<DeploymentId, @Nullable Autoscaled> found, Predicate<String> there) {
    Map<String, Map<String, Autoscaled>> news = new LinkedHashMap<>();
    found.forEach(
        (id, now) -> {
          Autoscaled known = find(id);
          boolean holds = known != null && known.paused() && now != null;
          if (!holds && !Objects.equals(now, known) && there.test(id.application())) {
            Map<String, Autoscaled> own =
                news.computeIfAbsent(id.application(), name -> new TreeMap<>(of(name)));
            own.compute(id.name(), (name, before) -> now);
          }
        });
    return new AutoscaledNumbers(news);
  }

  /**
   * @param replicas null for the last number, from which autoscaling goes on
   */
  AutoscaledNumbers paused(DeploymentId id, @Nullable Integer replicas) {
    Autoscaled known = find(id);
    String state = known == null ? null : known.policyState();
    int last = replicas != null ? replicas : known == null ? -1 : known.replicas();
    Autoscaled now = new Autoscaled(last, replicas != null, state);
    if (last < 0 || now.equals(known)) {
      return NONE;
    }
    Map<String, Autoscaled> own = new TreeMap<>(of(id.application()));
    own.put(id.name(), now);
    return new AutoscaledNumbers(Map.of(id.application(), own));
  }

  // --- as they are kept ---

  JsonObject toJson() {
    JsonObject json = new JsonObject();
    all.forEach(
        (application, each) -> {
          JsonObject own = new JsonObject();
          each.forEach(
              (name, now) ->
                  own.put(
                      name,
                      new JsonObject()
                          .put("replicas", now.replicas())
                          .put("paused", now.paused())
                          .put("policy_state", now.policyState())));
          json.put(application, own);
        });
    return json;
  }

  static AutoscaledNumbers of(JsonObject json) {
    Map<String, Map<String, Autoscaled>> all = new HashMap<>();
    for (String application : json.fieldNames()) {
      JsonObject own = json.getJsonObject(application);
      Map<String, Autoscaled> each = new TreeMap<>();
      for (String name : own.fieldNames()) {
        JsonObject now = own.getJsonObject(name);
        each.put(
            name,
            new Autoscaled(
                now.getInteger("replicas"),
                now.getBoolean("paused"),
                now.getString("policy_state")));
      }
      all.put(application, each);
    }
    return new AutoscaledNumbers(all);
  }
}

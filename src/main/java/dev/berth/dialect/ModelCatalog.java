package dev.berth.dialect;

import dev.berth.api.DeploymentId;
import dev.berth.config.builtin.OpenAiOptions;
import dev.berth.config.keys.Settings;
import dev.berth.protocol.port.ModelHeader;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The models of one application {@code berth:openai}, by name and alias. Immutable, and equal if
 * equal settings made it.
 *
 * @param deployments that serve models, in the order of the models
 * @param targets of the models, by names and aliases, in their order
 * @param usage treatment of token counts
 * @param findsStored whether each request reaches the upstream that has the stored responses: all
 *     models have one origin in total, or all upstreams share one store
 */
public record ModelCatalog(
    List<DeploymentId> deployments,
    Map<String, ModelTarget> targets,
    UsageMode usage,
    boolean findsStored) {

  /** Creation time of a model for Anthropic's clients, which no setting states. */
  private static final String UNKNOWN_TIME = "1970-01-01T00:00:00Z";

  /**
   * Creates the catalog of an application.
   *
   * @param openAi valid {@code args}
   * @param fallbacks returns the fallbacks of a deployment, in order
   * @param origins returns the number of origins of a deployment's upstreams
   */
  public static ModelCatalog of(
      Settings openAi,
      String application,
      Function<DeploymentId, List<DeploymentId>> fallbacks,
      Function<DeploymentId, Integer> origins) {
    List<Settings> models = openAi.get(OpenAiOptions.MODELS);
    Map<DeploymentId, Set<String>> names = new LinkedHashMap<>(); // at the upstreams
    for (Settings model : models) {
      names
          .computeIfAbsent(deployment(model, application), first -> new LinkedHashSet<>())
          .add(model.get(OpenAiOptions.UPSTREAM_NAME));
    }
    List<DeploymentId> deployments = List.copyOf(names.keySet());
    Map<String, ModelTarget> targets = new LinkedHashMap<>();
    for (Settings model : models) {
      DeploymentId own = deployment(model, application);
      String upstreamName = model.get(OpenAiOptions.UPSTREAM_NAME);
      StringBuilder parts = new StringBuilder();
      for (DeploymentId each : withFallbacks(own, fallbacks, new LinkedHashSet<>())) {
        Set<String> known = names.getOrDefault(each, Set.of(upstreamName));
        String other = known.iterator().next();
        parts.append(ModelHeader.part(each, known.contains(upstreamName) ? upstreamName : other));
      }
      String name = model.get(OpenAiOptions.NAME);
      List<String> all = new ArrayList<>(List.of(name));
      all.addAll(model.get(OpenAiOptions.ALIASES));
      int side = deployments.indexOf(own);
      all.forEach(each -> targets.put(each, new ModelTarget(side, each, name, parts.toString())));
    }
    return new ModelCatalog(
        deployments,
        Collections.unmodifiableMap(targets),
        UsageMode.valueOf(openAi.get(OpenAiOptions.USAGE).toUpperCase(Locale.ROOT)),
        openAi.get(OpenAiOptions.STORED).equals("shared")
            || deployments.stream()
                    .flatMap(each -> withFallbacks(each, fallbacks, new LinkedHashSet<>()).stream())
                    .mapToInt(origins::apply)
                    .sum()
                == 1);
  }

  private static DeploymentId deployment(Settings model, String application) {
    return new DeploymentId(application, model.get(OpenAiOptions.DEPLOYMENT));
  }

  private static Set<DeploymentId> withFallbacks(
      DeploymentId first,
      Function<DeploymentId, List<DeploymentId>> fallbacks,
      Set<DeploymentId> into) {
    if (into.add(first)) {
      fallbacks.apply(first).forEach(each -> withFallbacks(each, fallbacks, into));
    }
    return into;
  }

  /** Returns the names of the models, without aliases. */
  public Stream<String> names() {
    return targets.values().stream().map(ModelTarget::name);
  }

  /** Returns the target of a name or alias; null for an unknown one. */
  public @Nullable ModelTarget find(String model) {
    return targets.get(model);
  }

  /**
   * Returns the response body of a list of the models.
   *
   * @param key of the client, which limits the list; null for none
   */
  public Buffer list(ApiDialect dialect, ApiKeys.@Nullable ApiKey key) {
    JsonArray all = new JsonArray();
    for (ModelTarget each : targets.values()) {
      if (key == null || key.permits(each)) {
        all.add(json(dialect, each));
      }
    }
    JsonObject list = new JsonObject().put("data", all);
    if (dialect == ApiDialect.OPENAI) {
      return list.put("object", "list").toBuffer();
    }
    boolean none = all.isEmpty();
    return list.put("has_more", false)
        .put("first_id", none ? null : all.getJsonObject(0).getString("id"))
        .put("last_id", none ? null : all.getJsonObject(all.size() - 1).getString("id"))
        .toBuffer();
  }

  /** Returns the response body of one model. */
  public Buffer one(ApiDialect dialect, ModelTarget target) {
    return json(dialect, target).toBuffer();
  }

  private static JsonObject json(ApiDialect dialect, ModelTarget target) {
    JsonObject json = new JsonObject().put("id", target.requested());
    return dialect == ApiDialect.OPENAI
        ? json.put("object", "model").put("created", 0).put("owned_by", "berth")
        : json.put("type", "model")
            .put("display_name", target.name())
            .put("created_at", UNKNOWN_TIME);
  }
}

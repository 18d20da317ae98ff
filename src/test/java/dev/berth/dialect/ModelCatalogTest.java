package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.Yaml;
import dev.berth.config.keys.Settings;
import dev.berth.dialect.ApiKeys.ApiKey;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ModelCatalogTest {
  private static final String SMOL = "{name: smol, deployment: d, upstream_name: llama-3}";
  private static final String BIG =
      "{name: big, deployment: e, aliases: [gpt-4o, large], upstream_name: org/big}";
  private static final String TINY = "{name: tiny, deployment: d}";

  private static Settings args(String more, String... models) {
    String text =
        """
        applications:
        - name: app
          import_path: berth:openai
          args: {models: [%s]%s}
          deployments:
          - {name: d, berth: {upstreams: [{url: 'http://h:1', max_ongoing_requests: 1}]}}
          - {name: e, berth: {upstreams: [{url: 'http://h:2', max_ongoing_requests: 1}]}}
        """
            .formatted(String.join(", ", models), more);
    Settings route = Yaml.read(text).applications().get(0).routeSettings();
    return Objects.requireNonNull(route).get(ApplicationConfig.OPENAI);
  }

  private static DeploymentId id(String name) {
    return new DeploymentId("app", name);
  }

  private static ModelCatalog catalog(
      Settings args, Map<String, List<String>> fallbacks, Function<DeploymentId, Integer> origins) {
    return ModelCatalog.of(
        args,
        "app",
        each ->
            fallbacks.getOrDefault(each.name(), List.of()).stream()
                .map(ModelCatalogTest::id)
                .toList(),
        origins);
  }

  private static ModelCatalog catalog(String... models) {
    return catalog(args("", models), Map.of(), each -> 1);
  }

  private static ModelTarget target(ModelCatalog catalog, String name) {
    return Objects.requireNonNull(catalog.find(name));
  }

  @Test
  void nameAndAliasLeadToTheDeploymentOfTheModel() {
    ModelCatalog models = catalog(SMOL, BIG, TINY);
    assertThat(models.deployments()).containsExactly(id("d"), id("e"));
    assertThat(target(models, "gpt-4o"))
        .isEqualTo(new ModelTarget(1, "gpt-4o", "big", ";e=org/big"));
    assertThat(target(models, "smol").headerParts()).isEqualTo(";d=llama-3");
    assertThat(target(models, "tiny").headerParts()).isEqualTo(";d=tiny");
    for (String unknown : new String[] {"", "SMOL", "llama-3", "d"}) {
      assertThat(models.find(unknown)).as(unknown).isNull();
    }
    assertThat(models.usage()).isEqualTo(UsageMode.READ);
    assertThat(catalog(args(", usage: inject", SMOL), Map.of(), each -> 1).usage())
        .isEqualTo(UsageMode.INJECT);
  }

  @Test
  void fallbackReceivesTheNameOfItsOwnModel() {
    Map<String, List<String>> fallbacks = Map.of("e", List.of("d", "f"), "f", List.of("g"));
    ModelCatalog models = catalog(args("", BIG, SMOL, TINY), fallbacks, each -> 1);
    assertThat(target(models, "big").headerParts())
        .isEqualTo(";e=org/big;d=llama-3;f=org/big;g=org/big");
    String same = "{name: second, deployment: d, upstream_name: org/big}";
    ModelCatalog equal = catalog(args("", BIG, SMOL, same), fallbacks, each -> 1);
    assertThat(target(equal, "big").headerParts()).startsWith(";e=org/big;d=org/big;");
  }

  @ParameterizedTest
  @CsvSource({
    // models, origins of each, fallback of d, stored
    "1, 1, , origin, true",
    "1, 2, , origin, false",
    "1, 1, e, origin, false",
    "2, 1, , origin, false",
    "2, 2, e, shared, true"
  })
  void storedResponsesNeedOneOriginInTotal(
      int count, int origins, @Nullable String fallback, String stored, boolean found) {
    String more = ", stored: " + stored;
    ModelCatalog models =
        catalog(
            count == 1 ? args(more, SMOL) : args(more, SMOL, BIG),
            fallback == null ? Map.of() : Map.of("d", List.of(fallback)),
            each -> origins);
    assertThat(models.findsStored()).isEqualTo(found);
    assertThat(catalog(SMOL, TINY).findsStored()).isTrue(); // of one deployment
  }

  @Test
  void listsHaveTheShapeOfTheDialect() {
    ModelCatalog models = catalog(SMOL, BIG);
    JsonObject list = models.list(ApiDialect.OPENAI, null).toJsonObject();
    assertThat(list.getString("object")).isEqualTo("list");
    assertThat(list.getJsonArray("data").getJsonObject(2))
        .isEqualTo(
            new JsonObject()
                .put("id", "gpt-4o")
                .put("object", "model")
                .put("created", 0)
                .put("owned_by", "berth"));
    assertThat(list.getJsonArray("data")).hasSize(4);

    JsonObject page = models.list(ApiDialect.ANTHROPIC, null).toJsonObject();
    assertThat(page.getString("first_id")).isEqualTo("smol");
    assertThat(page.getString("last_id")).isEqualTo("large");
    assertThat(page.getBoolean("has_more")).isFalse();
    assertThat(models.one(ApiDialect.ANTHROPIC, target(models, "large")).toJsonObject())
        .isEqualTo(page.getJsonArray("data").getJsonObject(3))
        .isEqualTo(
            new JsonObject()
                .put("id", "large")
                .put("type", "model")
                .put("display_name", "big")
                .put("created_at", "1970-01-01T00:00:00Z"));
  }

  @Test
  void listHasOnlyTheModelsOfTheKey() {
    ModelCatalog models = catalog(SMOL, BIG);
    assertThat(ids(models, new ApiKey("k", Set.of("*")))).hasSize(4);
    assertThat(ids(models, new ApiKey("k", Set.of("big"))))
        .containsExactly("big", "gpt-4o", "large");
    assertThat(ids(models, new ApiKey("k", Set.of("gpt-4o", "unknown")))).containsExactly("gpt-4o");
    ApiKey none = new ApiKey("k", Set.of("unknown"));
    assertThat(models.list(ApiDialect.ANTHROPIC, none).toJsonObject().getValue("first_id"))
        .isNull();
  }

  @Test
  void listIsBuiltOncePerDialectAndPermission() {
    ModelAdmission rules = new ModelAdmission(catalog(SMOL, BIG), null);
    ApiKey alice = new ApiKey("alice", Set.of("big"));
    ApiKey bob = new ApiKey("bob", Set.of("big"));
    assertThat(rules.list(ApiDialect.OPENAI, null))
        .isSameAs(rules.list(ApiDialect.OPENAI, null))
        .isNotEqualTo(rules.list(ApiDialect.ANTHROPIC, null))
        .isNotEqualTo(rules.list(ApiDialect.OPENAI, alice));
    assertThat(rules.list(ApiDialect.OPENAI, bob)).isSameAs(rules.list(ApiDialect.OPENAI, alice));
  }

  private static List<String> ids(ModelCatalog models, ApiKey key) {
    return models.list(ApiDialect.OPENAI, key).toJsonObject().getJsonArray("data").stream()
        .map(each -> ((JsonObject) each).getString("id"))
        .toList();
  }

  @Test
  void equalSettingsMakeEqualCatalogs() {
    assertThat(catalog(SMOL, BIG)).isEqualTo(catalog(SMOL, BIG)).isNotEqualTo(catalog(BIG, SMOL));
  }
}

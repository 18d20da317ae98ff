package dev.berth.config.builtin;

import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import dev.berth.config.keys.YamlScalars;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The application {@code berth:openai}: its {@code args}, and {@code berth.openai} of an instance.
 */
public final class OpenAiOptions {
  /** Maximum number of models of one application. */
  public static final int MAX_MODELS = 1_000;

  /** Maximum number of aliases of one model. */
  public static final int MAX_ALIASES = 100;

  /** Name of a model, which needs no escape in JSON, in the file of keys, or in a header. */
  public static final Type<String> MODEL_NAME =
      Types.string(
          "1 to 256 visible ASCII characters without \" \\ , and ;, other than *",
          "^(?!\\*$)[!#-+\\--:<-\\[\\]-~]{1,256}$");

  // --- a model ---

  private static final Keys OF_MODEL = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<String> NAME =
      OF_MODEL
          .required("name", MODEL_NAME)
          .means("Name of the model for clients; unique among names and aliases.");
  public static final ConfigKey<String> DEPLOYMENT =
      OF_MODEL
          .required("deployment", Types.NAME)
          .means("Deployment of the application that serves the model.");
  public static final ConfigKey<List<String>> ALIASES =
      OF_MODEL
          .key("aliases", Types.list(MODEL_NAME), List.of())
          .means("Further names of the model for clients, at most " + MAX_ALIASES + ".");
  public static final ConfigKey<String> UPSTREAM_NAME =
      OF_MODEL
          .key("upstream_name", MODEL_NAME)
          .fallback(settings -> settings.find(NAME), "name")
          .means(
              "Name of the model in requests to the upstreams. An upstream's own model overrides"
                  + " it. A fallback deployment receives the name of its own model: of the one with"
                  + " the same upstream_name, or else of its first one.");

  // --- args ---

  private static final Keys KEYS = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<List<Settings>> MODELS =
      KEYS.required("models", Types.list(OF_MODEL.section()))
          .means("Models, from 1 to 1000. The model of a request selects the deployment.");
  public static final ConfigKey<String> USAGE =
      KEYS.key("usage", Types.choice(List.of("read", "inject", "off")), "read")
          .means(
              "Token counts of responses: read is as the upstream states them; inject also requests"
                  + " them for streams of chat and text completions (stream_options.include_usage)"
                  + " and removes the additional event; off reads none.");
  public static final ConfigKey<String> STORED =
      KEYS.key("stored", Types.choice(List.of("origin", "shared")), "origin")
          .means(
              "Place of responses that upstreams store (/v1/responses): origin is the upstream that"
                  + " created it, so that they are refused unless the deployment has one origin and"
                  + " no fallback; shared is one store of all upstreams.");

  public static final Section SECTION = KEYS.section().check(OpenAiOptions::checkModels);

  // --- the instance ---

  private static final Keys OF_INSTANCE = new Keys();

  public static final ConfigKey<String> API_KEYS_FILE =
      OF_INSTANCE
          .optional("api_keys_file", Types.TEXT)
          .means(
              "File below berth.secrets_dir with the keys of clients, one line ID SHA256 MODELS"
                  + " each, as berth key new prints it. Others must not be able to read the file."
                  + " Read at the start. null: none.");
  public static final ConfigKey<Boolean> ALLOW_UNAUTHENTICATED =
      OF_INSTANCE
          .key("allow_unauthenticated", Types.BOOL, false)
          .means(
              "Whether clients of other machines may use berth:openai applications without a key."
                  + " Without it, they need api_keys_file, or a loopback http_options.host. No effect"
                  + " with api_keys_file.");

  public static final Section INSTANCE_SECTION = OF_INSTANCE.section();

  /** The alternatives of an instance that may serve {@code berth:openai}. */
  public static final String ACCESS =
      "http_options.host: 127.0.0.1; or berth.openai.api_keys_file; or"
          + " berth.openai.allow_unauthenticated: true";

  private OpenAiOptions() {}

  private static void checkModels(Settings values) {
    List<Settings> models = values.all(MODELS);
    if (values.find(MODELS) != null && (models.isEmpty() || models.size() > MAX_MODELS)) {
      values.problem(MODELS, models.size() + " models", "1 to " + MAX_MODELS);
    }
    Set<String> seen = new HashSet<>();
    for (Settings model : models) {
      List<String> aliases = Objects.requireNonNullElse(model.find(ALIASES), List.of());
      if (aliases.size() > MAX_ALIASES) {
        model.problem(ALIASES, aliases.size() + " aliases", "at most " + MAX_ALIASES);
      }
      checkOnce(model, NAME, model.find(NAME), seen);
      aliases.forEach(alias -> checkOnce(model, ALIASES, alias, seen));
    }
  }

  private static void checkOnce(
      Settings model, ConfigKey<?> key, @Nullable String name, Set<String> seen) {
    if (name != null && !seen.add(name)) {
      model.problem(key, '"' + name + "\" twice", "unique among names and aliases");
    }
  }

  /** Requires that the deployments of the models exist. */
  public static void checkDeployments(Settings openAi, Set<String> names) {
    for (Settings model : openAi.all(MODELS)) {
      String deployment = model.find(DEPLOYMENT);
      if (deployment != null && !names.contains(deployment)) {
        model.problem(
            DEPLOYMENT,
            '"' + YamlScalars.shorten(deployment) + '"',
            "one of " + String.join(", ", names));
      }
    }
  }
}

package dev.berth.config;

import dev.berth.api.Deployment;
import dev.berth.config.batching.BatchingOptions;
import dev.berth.config.builtin.OpenAiOptions;
import dev.berth.config.edge.CostOptions;
import dev.berth.config.edge.EdgeOptions;
import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.NodePositions;
import dev.berth.config.keys.ProblemLocator;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An entry of {@code applications}.
 *
 * @param settings the settings of the entry, within those of the file
 * @param entry the whole entry of the file, as JSON values
 * @param source the position of the entry in the file
 */
public record ApplicationConfig(
    Settings settings, Map<String, @Nullable Object> entry, ProblemLocator source) {

  /** Name of an application whose entry has no name. */
  static final String DEFAULT_NAME = "default";

  private static final Keys KEYS = new Keys(ChangeReach.CONTROLLER);
  private static final Keys LIVE = KEYS.reaching(ChangeReach.REPLICA_LIVE);
  private static final Keys RECREATE = KEYS.reaching(ChangeReach.REPLICA_RECREATE);

  public static final ConfigKey<String> NAME =
      KEYS.key("name", Types.NAME, DEFAULT_NAME).means("Name of the application; unique.");
  public static final ConfigKey<String> ROUTE_PREFIX =
      LIVE.key("route_prefix", Types.ROUTE_PREFIX, "/")
          .orNone()
          .means("Path prefix of the application; unique. null: no HTTP route.");

  // Code: these keys are part of a build's digest.
  public static final ConfigKey<ImportPath> IMPORT_PATH =
      RECREATE
          .required("import_path", ImportPath.TYPE)
          .means(
              "Static method that builds the application. Three are built in, whose deployments"
                  + " are those of deployments: with berth:proxy the first one serves the route, with"
                  + " berth:openai the model of a request selects one, with berth:mcp the only one"
                  + " has servers of the Model Context Protocol.");

  private static final Keys ENV = new Keys(ChangeReach.REPLICA_RECREATE);

  public static final ConfigKey<List<Path>> JARS =
      ENV.key("jars", Types.JARS, List.of())
          .means(
              "Jars of the application's own class loader, or directories of jars, in name order;"
                  + " relative to the folder of the file. Their classes take precedence over"
                  + " Berth's, except those of the JDK, dev.berth.api, Vert.x, Netty and SLF4J.");

  private static final Type<Map<String, @Nullable Object>> ARGS_TYPE =
      new Type.RestrictedType<>(
          Types.FREE_MAP, // the schema suggests the keys of berth:openai to editors
          map -> true,
          Types.FREE_MAP.expected(),
          "",
          Schema.of("object")
              .with("anyOf", List.of(OpenAiOptions.SECTION.schema(), Schema.of("object"))));

  public static final ConfigKey<Settings> RUNTIME_ENV =
      KEYS.mapping("runtime_env", ENV.section().and(UnsupportedRayKeys.RUNTIME_ENV))
          .means("Requirements of the application's code.");
  public static final ConfigKey<Map<String, @Nullable Object>> ARGS =
      RECREATE
          .key("args", ARGS_TYPE, Map.of())
          .means(
              "Arguments of the builder. {$file: PATH} and {$env: NAME} in place of a value are"
                  + " read where and when the builder runs; only the reference is stored. Those of"
                  + " berth:openai have a table below, and change live.");

  // Execution of the code.
  public static final ConfigKey<Settings> LOGGING_CONFIG =
      LIVE.optional("logging_config", LoggingOptions.SECTION)
          .fallback(settings -> settings.around(ServeConfig.LOGGING_CONFIG), "null")
          .means("Logging of this application; replaces the file's as a whole.");
  public static final ConfigKey<List<Settings>> DEPLOYMENTS =
      KEYS.key("deployments", Types.list(DeploymentConfig.SECTION), List.of())
          .means("Overrides of the application's code, one entry per deployment.");

  public static final ConfigKey<Boolean> EXTERNAL_SCALER_ENABLED =
      KEYS.key("external_scaler_enabled", Types.BOOL, false)
          .means(
              "Whether the number of replicas of its deployments may be set externally, by the"
                  + " scale endpoint of the admin server.");

  public static final ConfigKey<Settings> AUTOSCALING_POLICY =
      KEYS.optional("autoscaling_policy", AutoscalingOptions.POLICY_SECTION)
          .means(
              "Policy that decides for all deployments of the application with an"
                  + " autoscaling_config; their own policies have no effect then.");

  // --- keys under berth ---

  private static final Keys OWN = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<Duration> REQUEST_TIMEOUT_S =
      OWN.optional("request_timeout_s", Types.SECONDS)
          .means(
              "Request timeout of its deployments without one of their own; in place of"
                  + " http_options.request_timeout_s.");

  private static final Section OWN_SECTION =
      OWN.section().and(TrafficOptions.SECTION).and(EdgeOptions.SECTION);

  public static final ConfigKey<Settings> BERTH =
      KEYS.mapping("berth", OWN_SECTION).means("Keys without a name in Ray Serve.");

  // --- keys of a route between instances, not of a file ---

  private static final Keys OF_ROUTE = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<Settings> OPENAI =
      OF_ROUTE.optional("openai", OpenAiOptions.SECTION).means("The args of berth:openai.");

  private static final Section ROUTE_SECTION = OWN_SECTION.and(OF_ROUTE.section());

  static final Section SECTION =
      KEYS.section()
          .misplaced("host", "http_options.host")
          .misplaced("port", "http_options.port")
          .check(ApplicationConfig::check);

  /** Reads an application's settings of its route in the form that instances exchange. */
  public static Settings routeSettingsFromMap(Map<?, ?> json) {
    return ROUTE_SECTION.fromMap(json);
  }

  private static void check(Settings values) {
    values.requireUnique(DEPLOYMENTS, DeploymentConfig.NAME);
    requireOneScaler(values);
    SecretArguments.check(values, ARGS);
    Settings own = values.gives(BERTH) ? values.find(BERTH) : null;
    if (own != null) {
      TrafficOptions.check(own, true);
    }
    checkUpstreams(values);
    values.marks().tree(); // reports an entry that cannot be stored as JSON
  }

  /** Requires that upstreams and a built-in application stand together, without code. */
  private static void checkUpstreams(Settings values) {
    ImportPath path = values.find(IMPORT_PATH);
    boolean builtIn = path != null && path.isBuiltIn();
    List<Settings> deployments = values.all(DEPLOYMENTS);
    if (builtIn) {
      checkNoCode(values, path);
      if (deployments.isEmpty()) {
        values.problem(DEPLOYMENTS, "none, with import_path " + path, "one with berth.upstreams");
      }
    }
    if (ImportPath.MCP.equals(path)) {
      checkMcp(values);
    }
    Map<String, Settings> named = new LinkedHashMap<>();
    Set<String> names = new LinkedHashSet<>();
    for (Settings each : deployments) {
      Settings own = DeploymentConfig.own(each);
      String name = String.valueOf(each.find(DeploymentConfig.NAME));
      names.add(name);
      boolean given = own != null && UpstreamOptions.isGiven(own);
      if (given && path != null && !builtIn) {
        own.problem(
            DeploymentConfig.UPSTREAMS,
            "with import_path " + path,
            "import_path: berth:proxy, berth:openai or berth:mcp");
      } else if (builtIn && !given) {
        String expected = "upstreams, as " + path;
        each.problem(DeploymentConfig.NAME, name + ", without berth.upstreams", expected);
      }
      if (own != null && own.gives(DeploymentConfig.MCP) && !ImportPath.MCP.equals(path)) {
        own.problem(DeploymentConfig.MCP, "with import_path " + path, "import_path: berth:mcp");
      }
      if (own != null && own.gives(DeploymentConfig.BATCH) && !ImportPath.PROXY.equals(path)) {
        own.problem(DeploymentConfig.BATCH, "with import_path " + path, "import_path: berth:proxy");
      }
      if (given) {
        named.put(name, own);
        own.all(DeploymentConfig.UPSTREAMS).stream()
            .filter(entry -> entry.gives(UpstreamOptions.MODEL) && !ImportPath.OPENAI.equals(path))
            .forEach(entry -> refuse(entry, UpstreamOptions.MODEL, path));
      }
    }
    UpstreamOptions.checkFallbacks(named);
    if (ImportPath.OPENAI.equals(path)) {
      checkOpenAi(values, names);
    }
  }

  private static void checkNoCode(Settings values, ImportPath path) {
    Settings environment = values.find(RUNTIME_ENV);
    List<Path> jars = environment == null ? null : environment.find(JARS);
    if (environment != null && jars != null && !jars.isEmpty()) {
      refuse(environment, JARS, path);
    }
    if (!path.equals(ImportPath.OPENAI) && values.gives(ARGS)) {
      refuse(values, ARGS, path);
    }
    if (values.gives(EXTERNAL_SCALER_ENABLED)) {
      refuse(values, EXTERNAL_SCALER_ENABLED, path);
    }
  }

  private static void refuse(Settings values, ConfigKey<?> key, ImportPath path) {
    values.problem(key, "with import_path " + path, "leave it out");
  }

  /** Checks {@code berth:mcp}: sessions need one deployment, and one replica per server. */
  private static void checkMcp(Settings values) {
    refuseTraffic(values, ImportPath.MCP);
    List<Settings> deployments = values.all(DEPLOYMENTS);
    if (deployments.size() > 1) {
      String many = deployments.size() + ", with import_path " + ImportPath.MCP;
      values.problem(DEPLOYMENTS, many, "one");
    }
    for (Settings each : deployments) {
      Settings own = DeploymentConfig.own(each);
      for (Settings entry :
          own == null ? List.<Settings>of() : own.all(DeploymentConfig.UPSTREAMS)) {
        if (entry.gives(UpstreamOptions.OWNERS)) {
          refuse(entry, UpstreamOptions.OWNERS, ImportPath.MCP);
        }
      }
    }
  }

  private static void refuseTraffic(Settings values, ImportPath path) {
    Settings own = values.gives(BERTH) ? values.find(BERTH) : null;
    for (ConfigKey<?> key : TrafficOptions.OF_ROUTE) {
      if (own != null && own.gives(key)) {
        refuse(own, key, path);
      }
    }
  }

  /** Checks the args of {@code berth:openai}, whose requests have no other rules of a route. */
  private static void checkOpenAi(Settings values, Set<String> deployments) {
    refuseTraffic(values, ImportPath.OPENAI);
    if (!values.gives(ARGS)) {
      values.problem(ARGS, "missing", "a mapping with models");
    } else if (values.find(ARGS) != null) {
      Settings openAi = values.marks().check(ARGS, OpenAiOptions.SECTION);
      OpenAiOptions.checkDeployments(Objects.requireNonNull(openAi), deployments);
    }
  }

  /**
   * Reports an application that both scales from outside and autoscales. Source: Ray Serve, which
   * forbids the same.
   */
  private static void requireOneScaler(Settings values) {
    String autoscaled =
        values.all(DEPLOYMENTS).stream()
            .filter(DeploymentConfig::autoscales)
            .flatMap(each -> Stream.ofNullable(each.find(DeploymentConfig.NAME)))
            .collect(Collectors.joining(", "));
    if (!autoscaled.isEmpty() && Boolean.TRUE.equals(values.find(EXTERNAL_SCALER_ENABLED))) {
      values.problem(
          EXTERNAL_SCALER_ENABLED,
          "true, with autoscaling of " + autoscaled,
          "false, or no autoscaling in the application");
    }
  }

  /**
   * Creates an entry from settings that were read.
   *
   * @param values the settings as read
   * @param file the settings of the file around them
   */
  static ApplicationConfig from(Settings values, Settings file) {
    NodePositions marks = values.marks();
    return new ApplicationConfig(values.read().within(file), marks.tree(), marks.place().source());
  }

  /** Returns the name, unique in the file. */
  public String name() {
    return settings.get(NAME);
  }

  /** Returns the value of a key; see {@link Settings#get}. */
  public <T> T get(ConfigKey<T> key) {
    return settings.get(key);
  }

  /**
   * Returns the prefix of the application's route, unique in the file; null for an application
   * without HTTP.
   */
  public @Nullable String routePrefix() {
    return settings.find(ROUTE_PREFIX);
  }

  /** Returns the settings of the route that instances exchange; null when it has none. */
  public @Nullable Settings routeSettings() {
    Settings own = get(BERTH);
    boolean openAi = get(IMPORT_PATH).equals(ImportPath.OPENAI);
    if (!openAi && TrafficOptions.ofRoute(own) == null && !EdgeOptions.isGiven(own)) {
      return null;
    }
    Map<String, @Nullable Object> all = new LinkedHashMap<>(own.toMap());
    all.put(OPENAI.name(), openAi ? get(ARGS) : null);
    return routeSettingsFromMap(all);
  }

  /**
   * Returns why an instance must not serve the application: other machines could use it without a
   * key. Null if it may, and for a worker of a cluster, which then serves no client.
   */
  public @Nullable ConfigProblem accessProblem() {
    Settings cluster = settings.around(InstanceOptions.CLUSTER);
    boolean worker =
        cluster != null && cluster.get(ClusterOptions.ROLE) == ClusterConfig.ClusterRole.WORKER;
    boolean open =
        get(IMPORT_PATH).equals(ImportPath.OPENAI)
            && !worker
            && settings.around(OpenAiOptions.API_KEYS_FILE) == null
            && !InstanceOptions.servesAnyone(settings);
    String value = ImportPath.OPENAI + ", for any client of another machine";
    return open ? source.problem(IMPORT_PATH.name(), value, OpenAiOptions.ACCESS) : null;
  }

  /** Returns the jars of the application's class loader, in order; absolute, existing. */
  public List<Path> jars() {
    return settings.get(JARS);
  }

  /**
   * Returns the entry of the file with absolute paths of jars, so that it can be read from any
   * folder.
   */
  public Map<String, @Nullable Object> portable() {
    Map<String, @Nullable Object> portable = new LinkedHashMap<>(entry);
    if (entry.get(RUNTIME_ENV.name()) instanceof Map<?, ?> given
        && given.containsKey(JARS.name())) {
      Map<Object, @Nullable Object> environment = new LinkedHashMap<>(given);
      environment.put(JARS.name(), jars().stream().map(Path::toString).toList());
      portable.put(RUNTIME_ENV.name(), environment);
    }
    return portable;
  }

  /** Returns a copy with the same code in other files. */
  public ApplicationConfig withJars(List<Path> jars) {
    return new ApplicationConfig(settings.with(JARS, List.copyOf(jars)), entry, source);
  }

  /** Returns a copy without positions, for a text that is not stored in any file. */
  public ApplicationConfig placeless() {
    return new ApplicationConfig(settings, entry, source.placeless());
  }

  /** Returns the overrides of the deployments, at most one for each name. */
  public List<Settings> deployments() {
    return settings.get(DEPLOYMENTS).stream().map(each -> each.within(settings)).toList();
  }

  /** Returns the overrides of one deployment; empty when the file has none. */
  public Optional<Settings> deployment(String name) {
    return deployments().stream()
        .filter(each -> each.get(DeploymentConfig.NAME).equals(name))
        .findFirst();
  }

  /**
   * Returns the effective settings of a deployment: the entry's overrides, then the values of its
   * code.
   *
   * @throws IllegalArgumentException when these exceed a limit of the instance
   */
  public Settings deployment(Deployment code) {
    Settings ofCode = DeploymentConfig.of(code);
    Settings said =
        deployment(code.name())
            .map(own -> DeploymentConfig.over(own, ofCode))
            .orElse(ofCode)
            .within(settings);
    said.checkBounds();
    List<Integer> slots = slots(said);
    BatchingOptions.requireSlots(
        said.find(DeploymentConfig.BATCHING),
        said,
        DeploymentConfig.MAX_ONGOING_REQUESTS,
        Collections.min(slots),
        1);
    CostOptions.requireSlots(said.find(DeploymentConfig.COST), Collections.max(slots));
    if (DeploymentConfig.autoscales(said) && get(EXTERNAL_SCALER_ENABLED)) {
      throw EXTERNAL_SCALER_ENABLED.refusal(
          "true, with autoscaling of " + code.name(), "false, or no autoscaling");
    }
    Settings begun = DeploymentConfig.withInitialReplicas(said);
    DeploymentConfig.requireRoom(begun);
    return begun;
  }

  /** Returns the slots of each upstream of a deployment; else those of each of its replicas. */
  public static List<Integer> slots(Settings deployment) {
    List<Integer> all =
        UpstreamOptions.byKey(deployment).values().stream()
            .map(each -> each.get(UpstreamOptions.MAX_ONGOING_REQUESTS))
            .toList();
    return all.isEmpty() ? List.of(deployment.get(DeploymentConfig.MAX_ONGOING_REQUESTS)) : all;
  }
}

package dev.berth.config;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One entry of {@code applications}.
 *
 * @param name unique in the file
 * @param routePrefix where it answers, unique in the file; null for an application without HTTP
 * @param importPath the method that builds it
 * @param jars what its class loader reads, in order; absolute, existing; a directory in the file
 *     stands for the jars in it, by name
 * @param args handed to the builder; JSON values only
 * @param logging what is logged of it, and how: its own, else the file's
 * @param deployments overrides of what its code says, at most one for each name
 * @param externalScalerEnabled whether the number of replicas may be set from outside
 * @param entry all that the file says here, as JSON values
 * @param source where the entry stands in the file
 */
public record ApplicationConfig(
    String name,
    @Nullable String routePrefix,
    ImportPath importPath,
    List<Path> jars,
    Map<String, @Nullable Object> args,
    LoggingOptions logging,
    List<DeploymentConfig> deployments,
    boolean externalScalerEnabled,
    Map<String, @Nullable Object> entry,
    Source source) {

  static final Key<String> NAME =
      Key.of("name", Types.name(), Defaults.APPLICATION_NAME, "Name of the application; unique.");
  static final Key<String> ROUTE_PREFIX =
      Key.of(
              "route_prefix",
              Types.routePrefix(),
              Defaults.ROUTE_PREFIX,
              "Where the application answers; unique. null gives the application no HTTP.")
          .orNull();
  static final Key<ImportPath> IMPORT_PATH =
      Key.required(
          "import_path", Types.importPath(), "The static method that builds the application.");
  static final Key<List<Path>> JARS =
      Key.of(
          "jars",
          Types.jars(),
          List.of(),
          "Jars of the application's own class loader, or directories of jars, in the order of"
              + " their names; relative to the folder of the file. A class in them wins over one of"
              + " Berth's, except those of the JDK, dev.berth.api, Vert.x, Netty and SLF4J.");

  static final Section RUNTIME_ENV_SECTION = Section.of(JARS).and(RayOnly.RUNTIME_ENV);

  static final Key<Values> RUNTIME_ENV =
      Key.of(
          "runtime_env",
          RUNTIME_ENV_SECTION,
          Values.empty(RUNTIME_ENV_SECTION),
          "What the application's code needs.");
  static final Key<Map<String, @Nullable Object>> ARGS =
      Key.of("args", Types.freeMap(), Map.of(), "Handed to the builder.");
  static final Key<Values> LOGGING_CONFIG =
      Key.optional(
          "logging_config",
          LoggingOptions.SECTION,
          "What is logged of this application, in place of the file's, as a whole.");
  static final Key<List<Values>> DEPLOYMENTS =
      Key.of(
          "deployments",
          Types.list(DeploymentConfig.SECTION),
          List.of(),
          "Overrides of what the application's code says, one entry for each deployment.");

  static final Key<Boolean> EXTERNAL_SCALER_ENABLED =
      Key.of(
          "external_scaler_enabled",
          Types.bool(),
          Defaults.EXTERNAL_SCALER_ENABLED,
          "Whether the number of replicas of its deployments may be set from outside, by the admin"
              + " server's scale endpoint.");

  static final Section SECTION =
      Section.of(
              NAME,
              ROUTE_PREFIX,
              IMPORT_PATH,
              RUNTIME_ENV,
              ARGS,
              LOGGING_CONFIG,
              DEPLOYMENTS,
              EXTERNAL_SCALER_ENABLED)
          .and(RayOnly.APPLICATION)
          .misplaced("host", "http_options.host")
          .misplaced("port", "http_options.port")
          .check(ApplicationConfig::check);

  private static void check(Values values) {
    Values.requireUnique(values.find(DEPLOYMENTS), DeploymentConfig.NAME);
    values.tree(); // it is kept as JSON
  }

  /** Checks each value against its key; the lists are copied, {@code args} is kept as it is. */
  public ApplicationConfig {
    NAME.require(name);
    ROUTE_PREFIX.requireIfSet(routePrefix);
    jars = List.copyOf(jars);
    deployments = List.copyOf(deployments);
  }

  static ApplicationConfig from(Values values, LoggingOptions outerLogging) {
    Values logging = values.find(LOGGING_CONFIG);
    return new ApplicationConfig(
        values.get(NAME),
        values.find(ROUTE_PREFIX),
        values.get(IMPORT_PATH),
        values.get(RUNTIME_ENV).get(JARS),
        values.get(ARGS),
        logging == null ? outerLogging : LoggingOptions.from(logging),
        values.get(DEPLOYMENTS).stream().map(DeploymentConfig::from).toList(),
        values.get(EXTERNAL_SCALER_ENABLED),
        values.tree(),
        values.source());
  }

  /** This application with the same code in other files. */
  public ApplicationConfig withJars(List<Path> jars) {
    return new ApplicationConfig(
        name,
        routePrefix,
        importPath,
        jars,
        args,
        logging,
        deployments,
        externalScalerEnabled,
        entry,
        source);
  }

  /** The overrides of one deployment, if the file has any. */
  public Optional<DeploymentConfig> deployment(String name) {
    return deployments.stream().filter(entry -> entry.name().equals(name)).findFirst();
  }
}

package dev.berth.config;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;

import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.ProblemLocator;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A whole, checked configuration.
 *
 * @param settings the settings of the file, except for its applications
 * @param applications the served applications, in the order of the file
 * @param folder base of relative paths, also for later submissions
 * @param warnings problems that do not prevent the use of the file, in its order
 * @param origin of the file
 * @param source for problems that are found after reading
 */
public record ServeConfig(
    Settings settings,
    List<ApplicationConfig> applications,
    Path folder,
    List<ConfigProblem> warnings,
    ConfigOrigin origin,
    ProblemLocator source) {

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<Settings> HTTP_OPTIONS =
      KEYS.mapping("http_options", HttpOptions.SECTION).means("HTTP server and its defaults.");
  public static final ConfigKey<Settings> LOGGING_CONFIG =
      KEYS.optional("logging_config", LoggingOptions.SECTION)
          .fallback(settings -> LoggingOptions.DEFAULTS, "null")
          .means("Level and format of the log. Applications and deployments can override it.");
  public static final ConfigKey<List<Settings>> APPLICATIONS =
      KEYS.key("applications", Types.list(ApplicationConfig.SECTION))
          .fallback(settings -> List.of(), "no change")
          .means(
              "Applications to serve. Names and route prefixes are unique. A file without the key"
                  + " leaves running ones unchanged; deploys require it.");
  public static final ConfigKey<Settings> BERTH =
      KEYS.mapping("berth", InstanceOptions.SECTION)
          .means("Keys of the instance without a name in Ray Serve.");

  public static final ConfigKey<String> PROXY_LOCATION =
      KEYS.key("proxy_location", Types.choice(List.of("EveryNode", "HeadOnly")), "EveryNode")
          .without("Disabled", "an instance always serves HTTP")
          .means("Location of the HTTP server: this instance, which is every node and the head.");
  public static final ConfigKey<Double> TARGET_CAPACITY =
      KEYS.optional("target_capacity", Types.number(0, 100))
          .reaches(ChangeReach.CONTROLLER)
          .means(
              "Percentage of each deployment's num_replicas to run, rounded half up, at least 1 of"
                  + " each unless it is 0. null: all. Upstreams always run.");

  private static final Pattern ENTRY = Pattern.compile("applications\\[\\d+]");

  static final Section SECTION =
      KEYS.section().and(UnsupportedRayKeys.FILE).check(ServeConfig::check);

  /** Default settings. */
  public static final Settings DEFAULTS = SECTION.empty();

  /** Returns the JSON Schema of a whole file, for editors, as JSON values. */
  public static Map<String, Object> schema() {
    return Schema.document(SECTION);
  }

  /** Copies the lists. */
  public ServeConfig {
    applications = List.copyOf(applications);
    warnings = List.copyOf(warnings);
  }

  /** Returns the value of a key; see {@link Settings#get}. */
  public <T> T get(ConfigKey<T> key) {
    return settings.get(key);
  }

  /** Returns the value of a key that may be unset; see {@link Settings#find}. */
  public <T> @Nullable T find(ConfigKey<T> key) {
    return settings.find(key);
  }

  /** Returns the settings of the cluster; null without a cluster. */
  public @Nullable ClusterConfig cluster() {
    Settings cluster = find(InstanceOptions.CLUSTER);
    return cluster == null ? null : ClusterOptions.of(cluster);
  }

  private static void check(Settings values) {
    values.requireUnique(APPLICATIONS, ApplicationConfig.NAME);
    values.requireUnique(APPLICATIONS, ApplicationConfig.ROUTE_PREFIX);
    Settings berth = values.find(BERTH);
    if (berth != null) {
      checkEndpoints(values.all(APPLICATIONS), berth);
      checkDataPort(values.find(HTTP_OPTIONS), berth.find(InstanceOptions.RESERVATIONS));
    }
    checkUpstreams(values.all(APPLICATIONS));
    values.checkBounds();
  }

  /** Checks the upstreams of applications that run in one instance or cluster. */
  static void checkUpstreams(List<Settings> applications) {
    Map<String, String> paths = new HashMap<>();
    for (Settings application : applications) {
      for (Settings deployment : application.all(ApplicationConfig.DEPLOYMENTS)) {
        Settings own = DeploymentConfig.own(deployment);
        if (own != null && UpstreamOptions.isGiven(own)) {
          UpstreamOptions.requireUnique(own, paths);
        }
      }
    }
  }

  private static void checkEndpoints(List<Settings> applications, Settings berth) {
    berth.requireUnique(InstanceOptions.ENDPOINTS, TrafficOptions.ROUTE_PREFIX);
    for (Settings endpoint : berth.all(InstanceOptions.ENDPOINTS)) {
      String prefix = endpoint.find(TrafficOptions.ROUTE_PREFIX);
      for (Settings each : applications) {
        if (prefix != null && prefix.equals(each.find(ApplicationConfig.ROUTE_PREFIX))) {
          String of = "that of application " + each.find(ApplicationConfig.NAME);
          endpoint.problem(
              TrafficOptions.ROUTE_PREFIX,
              '"' + prefix + "\", " + of,
              "another, or a traffic of it");
        }
      }
    }
  }

  /**
   * Requires authentication on the data port: a network client must not reserve slots anonymously.
   */
  private static void checkDataPort(@Nullable Settings http, @Nullable Settings reservations) {
    if (reservations == null
        || !Boolean.TRUE.equals(reservations.find(ReservationOptions.DATA_PORT))) {
      return;
    }
    List<Settings> tokens = reservations.find(ReservationOptions.BEARER_TOKENS);
    boolean certificates = http != null && http.gives(HttpOptions.SSL_CA_CERTS);
    if (!certificates && tokens != null && tokens.isEmpty()) {
      reservations.problem(
          ReservationOptions.DATA_PORT,
          "true, without client authentication",
          "bearer_tokens too, or http_options.ssl_ca_certs");
    }
  }

  /**
   * Creates a configuration from settings that were read.
   *
   * @param problems warnings, and errors of entries of {@code applications}, which are then omitted
   * @param uri of the file, as in {@link ConfigOrigin}
   */
  static ServeConfig from(Settings values, List<ConfigProblem> problems, @Nullable String uri) {
    Settings file = values.read().put(APPLICATIONS, null);
    Map<String, Settings> entries = new LinkedHashMap<>();
    values.get(APPLICATIONS).forEach(entry -> entries.put(entry.marks().place().path(), entry));
    Map<String, List<ConfigProblem>> wrong =
        problems.stream()
            .filter(problem -> !problem.isWarning())
            .collect(groupingBy(ServeConfig::entry, LinkedHashMap::new, toList()));
    List<ConfigOrigin.RefusedEntry> refused = new ArrayList<>();
    wrong.forEach(
        (path, why) -> {
          Settings entry = entries.remove(path);
          String name = entry == null ? null : entry.find(ApplicationConfig.NAME);
          refused.add(new ConfigOrigin.RefusedEntry(name, why));
        });
    return new ServeConfig(
        file,
        entries.values().stream().map(entry -> ApplicationConfig.from(entry, file)).toList(),
        values.marks().place().folder(),
        problems.stream().filter(ConfigProblem::isWarning).toList(),
        new ConfigOrigin(uri, values.gives(APPLICATIONS), refused),
        values.marks().place().source());
  }

  /**
   * Returns the path of the entry of {@code applications} that has this problem; empty for none.
   */
  static String entry(ConfigProblem problem) {
    Matcher matcher = ENTRY.matcher(problem.path());
    return matcher.lookingAt() ? matcher.group() : "";
  }

  /** Returns a copy with another value; null for the default. */
  public <T> ServeConfig with(ConfigKey<T> key, @Nullable T value) {
    return new ServeConfig(
        settings.with(key, value), applications, folder, warnings, origin, source);
  }
}

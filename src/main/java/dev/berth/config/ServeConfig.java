package dev.berth.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A whole configuration, checked.
 *
 * @param httpOptions where requests come in
 * @param logging what is logged, and how, of what does not say otherwise
 * @param applications what is served, in the order of the file
 * @param berth what holds for the instance and has no name in Ray Serve
 * @param targetCapacity percent of each deployment's replicas to run, 0 to 100; null when nothing
 *     is said of it, which runs them all
 * @param folder that relative paths in it start from; those of what is submitted later too
 * @param warnings what the file says to no effect, in its order
 * @param origin of it
 */
public record ServeConfig(
    HttpOptions httpOptions,
    LoggingOptions logging,
    List<ApplicationConfig> applications,
    InstanceOptions berth,
    @Nullable Double targetCapacity,
    Path folder,
    List<Problem> warnings,
    Origin origin) {

  static final Key<Values> HTTP_OPTIONS =
      Key.of(
          "http_options",
          HttpOptions.SECTION,
          Values.empty(HttpOptions.SECTION),
          "Where requests come in.");
  static final Key<Values> LOGGING_CONFIG =
      Key.optional(
          "logging_config",
          LoggingOptions.SECTION,
          "What is logged, and how. An application or a deployment may have its own.");
  static final Key<List<Values>> APPLICATIONS =
      Key.of(
              "applications",
              Types.list(ApplicationConfig.SECTION),
              List.<Values>of(),
              "What is served. Names and route prefixes are unique. A file without it leaves what"
                  + " runs as it is; it is required where something is deployed.")
          .fallbackText("nothing is said of them");
  static final Key<Values> BERTH =
      Key.of(
          "berth",
          InstanceOptions.SECTION,
          Values.empty(InstanceOptions.SECTION),
          "What holds for the instance and has no name in Ray Serve.");

  static final Key<String> PROXY_LOCATION =
      Key.of(
          "proxy_location",
          Types.choice(List.of("EveryNode", "HeadOnly"))
              .without("Disabled", "an instance always serves HTTP"),
          "EveryNode",
          "Where HTTP is served: on this instance, which is every node and the head.");
  static final Key<Double> TARGET_CAPACITY =
      Key.optional(
          "target_capacity",
          Types.number(0, 100),
          "Percent of each deployment's num_replicas to run, rounded half up, at least 1 of each"
              + " unless it is 0. null runs them all.");

  private static final Pattern ENTRY = Pattern.compile("applications\\[\\d+]");

  static final Section SECTION =
      Section.of(HTTP_OPTIONS, LOGGING_CONFIG, APPLICATIONS, BERTH, PROXY_LOCATION, TARGET_CAPACITY)
          .and(RayOnly.FILE)
          .check(ServeConfig::check);

  /** The lists are copied. */
  public ServeConfig {
    TARGET_CAPACITY.requireIfSet(targetCapacity);
    applications = List.copyOf(applications);
    warnings = List.copyOf(warnings);
  }

  private static void check(Values values) {
    List<Values> applications = values.find(APPLICATIONS);
    Values.requireUnique(applications, ApplicationConfig.NAME);
    Values.requireUnique(applications, ApplicationConfig.ROUTE_PREFIX);
    Values berth = values.find(BERTH);
    checkDataPort(values.find(HTTP_OPTIONS), berth);
    Values limits = berth == null ? null : berth.find(InstanceOptions.LIMITS);
    Duration longest = limits == null ? null : limits.find(LimitOptions.MAX_RESERVATION_TTL_S);
    if (applications != null && longest != null) {
      applications.forEach(
          application ->
              checkReservations(application.find(ApplicationConfig.DEPLOYMENTS), longest));
    }
  }

  /** Nobody may hold slots from the network without telling who it is. */
  private static void checkDataPort(@Nullable Values http, @Nullable Values berth) {
    Values reservations = berth == null ? null : berth.find(InstanceOptions.RESERVATIONS);
    if (reservations == null
        || !Boolean.TRUE.equals(reservations.find(ReservationOptions.DATA_PORT))) {
      return;
    }
    List<Values> tokens = reservations.find(ReservationOptions.BEARER_TOKENS);
    boolean certificates = http != null && http.gives(HttpOptions.SSL_CA_CERTS);
    if (!certificates && tokens != null && tokens.isEmpty()) {
      reservations.problem(
          ReservationOptions.DATA_PORT,
          "true, and no client can tell who it is",
          "bearer_tokens beside it, or http_options.ssl_ca_certs");
    }
  }

  private static void checkReservations(@Nullable List<Values> deployments, Duration longest) {
    for (Values deployment : deployments == null ? List.<Values>of() : deployments) {
      Values berth = deployment.find(DeploymentConfig.BERTH);
      Duration asked = berth == null ? null : berth.find(DeploymentConfig.RESERVATION_TTL_S);
      if (berth != null && asked != null && asked.compareTo(longest) > 0) {
        berth.problem(
            DeploymentConfig.RESERVATION_TTL_S,
            DeploymentConfig.RESERVATION_TTL_S.type().write(asked),
            DeploymentConfig.reservationTtlBound(longest));
      }
    }
  }

  /**
   * @param problems that are only warned of, or of entries of {@code applications}, which are left
   *     out then
   * @param uri as {@link Origin} has it
   */
  static ServeConfig from(Values values, List<Problem> problems, @Nullable String uri) {
    Values given = values.find(LOGGING_CONFIG);
    LoggingOptions logging = given == null ? LoggingOptions.defaults() : LoggingOptions.from(given);
    Map<String, Values> entries = new LinkedHashMap<>();
    values.get(APPLICATIONS).forEach(entry -> entries.put(entry.path(), entry));
    Map<String, List<Problem>> wrong = new LinkedHashMap<>();
    problems.stream()
        .filter(problem -> !problem.isWarning())
        .forEach(
            problem -> wrong.computeIfAbsent(entry(problem), e -> new ArrayList<>()).add(problem));
    List<Origin.Refused> refused = new ArrayList<>();
    wrong.forEach(
        (path, why) -> {
          Values entry = entries.remove(path);
          String name = entry == null ? null : entry.find(ApplicationConfig.NAME);
          refused.add(new Origin.Refused(name, why));
        });
    return new ServeConfig(
        HttpOptions.from(values.get(HTTP_OPTIONS)),
        logging,
        entries.values().stream().map(entry -> ApplicationConfig.from(entry, logging)).toList(),
        InstanceOptions.from(values.get(BERTH)),
        values.find(TARGET_CAPACITY),
        values.folder(),
        problems.stream().filter(Problem::isWarning).toList(),
        new Origin(uri, values.gives(APPLICATIONS), refused));
  }

  /** The path of the entry of {@code applications} that has this problem; empty for none. */
  static String entry(Problem problem) {
    Matcher matcher = ENTRY.matcher(problem.path());
    return matcher.lookingAt() ? matcher.group() : "";
  }

  /** This instance with other applications. */
  ServeConfig withApplications(
      List<ApplicationConfig> applications, @Nullable Double capacity, List<Problem> warnings) {
    return new ServeConfig(
        httpOptions, logging, applications, berth, capacity, folder, warnings, origin);
  }

  /** This configuration with another capacity; null runs all replicas. */
  public ServeConfig withTargetCapacity(@Nullable Double targetCapacity) {
    return withApplications(applications, targetCapacity, warnings);
  }

  /** This configuration with other HTTP options. */
  public ServeConfig withHttpOptions(HttpOptions httpOptions) {
    return new ServeConfig(
        httpOptions, logging, applications, berth, targetCapacity, folder, warnings, origin);
  }

  /** This configuration with other instance options. */
  public ServeConfig withBerth(InstanceOptions berth) {
    return new ServeConfig(
        httpOptions, logging, applications, berth, targetCapacity, folder, warnings, origin);
  }
}

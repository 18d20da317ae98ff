package dev.berth.desired;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.TrafficOptions;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Settings;
import dev.berth.view.ControllerCommands.DeployRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides conflicts about routes: a staying application retains its route, and the route of an
 * endpoint belongs to the instance.
 *
 * @param file configuration that the instance was started with
 */
record RouteRules(ServeConfig file) {
  private static final Logger LOG = LoggerFactory.getLogger(RouteRules.class);

  /**
   * Checks that submitted applications use only free routes and upstreams, and that this instance
   * may serve them.
   *
   * @param by submitting file, as in {@link LastApplied#submitted}
   * @throws ConfigException with every route and upstream that is in use, and every other reason
   */
  void requireFree(
      DesiredState state, List<ApplicationConfig> named, DeployRequest what, @Nullable String by) {
    Set<String> names = named.stream().map(ApplicationConfig::name).collect(Collectors.toSet());
    Predicate<String> leaves =
        other ->
            names.contains(other)
                || what.application() == null && state.goes(other, by, what.prunes());
    UpstreamOwners upstreams = UpstreamOwners.of(state, leaves.negate());
    List<ConfigProblem> problems = new ArrayList<>();
    for (ApplicationConfig each : named) {
      Optional.ofNullable(each.accessProblem()).ifPresent(problems::add);
      upstreams
          .conflicts(UpstreamOptions.paths(each.entry()))
          .forEach(at -> problems.add(each.source().problem(at.path(), at.key(), at.expected())));
      String prefix = each.routePrefix();
      String other = state.other(prefix, each.name());
      String taken = holder(other == null || leaves.test(other) ? null : other, prefix);
      if (taken != null) {
        String expected = "unique; " + taken + " already";
        problems.add(each.source().problem("route_prefix", '"' + prefix + '"', expected));
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigException(problems);
    }
  }

  /**
   * Returns the owner of a route, for people; null when it is free.
   *
   * @param application application with the route, apart from the one that wants it
   */
  @Nullable String holder(@Nullable String application, @Nullable String prefix) {
    if (prefix != null && endpoint(prefix) != null) {
      return "an endpoint of berth.endpoints has it";
    }
    return application == null ? null : "application " + application + " has it";
  }

  /** Logs each route with an entry in both the persisted state and the file's endpoints. */
  void tell(DesiredState kept) {
    kept.head
        .splits()
        .forEach(
            (route, weights) -> {
              if (endpoint(route) != null) {
                LOG.info("state: endpoint {}: {}, overriding the file", route, weights);
              }
            });
    for (DesiredApplication each : kept.applications()) {
      String prefix = each.serving().routePrefix();
      if (prefix != null && endpoint(prefix) != null) {
        LOG.warn(
            "state: application {}: route_prefix: \"{}\" (expected: unique; an endpoint of"
                + " berth.endpoints has it, and serves it)",
            each.name(),
            prefix);
      }
    }
  }

  /** Returns the file's endpoint with a route; null when there is none. */
  @Nullable Settings endpoint(String route) {
    return file.get(ServeConfig.BERTH).get(InstanceOptions.ENDPOINTS).stream()
        .filter(each -> each.get(TrafficOptions.ROUTE_PREFIX).equals(route))
        .findFirst()
        .orElse(null);
  }
}

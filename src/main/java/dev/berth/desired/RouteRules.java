package dev.berth.desired;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.TrafficOptions;
import dev.berth.config.keys.Problem;
import dev.berth.config.keys.Settings;
import dev.berth.view.ControllerCommands.Submitted;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who may answer on a route: it belongs to what stays there, and an endpoint's to the instance.
 *
 * @param file what the instance was started with
 */
record RouteRules(ServeConfig file) {
  private static final Logger LOG = LoggerFactory.getLogger(RouteRules.class);

  /**
   * @param by who submits it, as {@link LastApplied#submitted} takes it
   * @throws ConfigException with every route that is taken
   */
  void requireFree(
      DesiredState state, List<ApplicationConfig> named, Submitted what, @Nullable String by) {
    Set<String> names = named.stream().map(ApplicationConfig::name).collect(Collectors.toSet());
    List<Problem> problems = new ArrayList<>();
    for (ApplicationConfig each : named) {
      String prefix = each.routePrefix();
      String other = state.other(prefix, each.name());
      boolean leaves =
          other != null
              && what.application() == null
              && (names.contains(other) || state.goes(other, by, what.prunes()));
      String taken = holder(leaves ? null : other, prefix);
      if (taken != null) {
        String expected = "unique; " + taken + " already";
        problems.add(each.source().problem("route_prefix", '"' + prefix + '"', expected));
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigException(problems);
    }
  }

  /** Who has a route that an application would go back to; null when it is free. */
  @Nullable String holder(DesiredState state, @Nullable String prefix, String application) {
    return holder(state.other(prefix, application), prefix);
  }

  private @Nullable String holder(@Nullable String application, @Nullable String prefix) {
    if (prefix != null && endpoint(prefix) != null) {
      return "an endpoint of berth.endpoints has it";
    }
    return application == null ? null : "application " + application + " has it";
  }

  /** Says where what is kept and what the file says of its endpoints are of one route. */
  void tell(DesiredState kept) {
    kept.head()
        .splits()
        .forEach(
            (route, weights) -> {
              if (endpoint(route) != null) {
                LOG.info("state: endpoint {}: {}, in place of the file's", route, weights);
              }
            });
    for (DesiredApplication each : kept.applications()) {
      String prefix = each.serving().routePrefix();
      if (prefix != null && endpoint(prefix) != null) {
        LOG.warn(
            "state: application {}: route_prefix: \"{}\" (expected: unique; an endpoint of"
                + " berth.endpoints has it, and answers in its place)",
            each.name(),
            prefix);
      }
    }
  }

  /** What the file says of an endpoint; null when it has none there. */
  @Nullable Settings endpoint(String route) {
    return file.get(ServeConfig.BERTH).get(InstanceOptions.ENDPOINTS).stream()
        .filter(each -> each.get(TrafficOptions.ROUTE_PREFIX).equals(route))
        .findFirst()
        .orElse(null);
  }
}

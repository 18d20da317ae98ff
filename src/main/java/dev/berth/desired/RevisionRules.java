package dev.berth.desired;

import static dev.berth.view.CommandRejectedException.invalid;
import static dev.berth.view.CommandRejectedException.notFound;
import static dev.berth.view.CommandRejectedException.precondition;

import dev.berth.code.Jar;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.TrafficOptions;
import dev.berth.controller.ControllerEvent;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.desired.DesiredApplication.EarlierRevision;
import dev.berth.desired.ServeControl.CommandDecision;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Computes new revisions from known ones: a rollback to an earlier one, or the present one with
 * other weights of its route.
 *
 * @param directory where the desired state is persisted; null when it is not
 * @param nowMs milliseconds since 1970
 */
record RevisionRules(EntryReader reader, @Nullable String directory, LongSupplier nowMs) {
  private static final Logger LOG = LoggerFactory.getLogger(RevisionRules.class);

  /**
   * Declares an earlier revision again.
   *
   * @param to revision; null for the last one that ran
   */
  CommandDecision rollback(
      DesiredState state, DesiredApplication application, @Nullable Long to, boolean dryRun) {
    String name = application.name();
    EarlierRevision target = target(state, application, to);
    for (Jar jar : target.wanted().jars()) {
      if (!Files.exists(reader.jars().path(jar))) {
        throw precondition(
            "revision: %s of application %s: its %s is missing in %s (expected: stored)",
            target.revision(), name, jar.name(), directory);
      }
    }
    String prefix = target.wanted().routePrefix();
    String taken = new RouteRules(reader.file()).holder(state.other(prefix, name), prefix);
    if (taken != null) {
      throw precondition("route_prefix: \"%s\" (expected: unique; %s)", prefix, taken);
    }
    UpstreamOwners.of(state, other -> !other.equals(name))
        .conflicts(UpstreamOwners.paths(target.wanted()))
        .forEach(
            conflict -> {
              throw precondition("%s", conflict);
            });
    ApplicationConfig config = reader.read(name, target.wanted());
    if (dryRun) {
      return new CommandDecision(null, List.of(), Map.of(), target.revision());
    }
    DesiredChange change = state.rollback(name, target, nowMs.getAsLong());
    CommandDecision back = declared(state, change, config);
    LOG.info(
        "rollback: application {}: revision {} declared again as {}",
        name,
        target.revision(),
        back.answer());
    return back;
  }

  private static EarlierRevision target(
      DesiredState state, DesiredApplication application, @Nullable Long to) {
    List<EarlierRevision> earlier = state.history.earlier(application);
    EarlierRevision found =
        to == null
            ? state.history.rollbackTo(application)
            : earlier.stream().filter(each -> each.revision() == to).findFirst().orElse(null);
    if (found == null && to == null) {
      throw precondition(
          "application: %s: no earlier revision (expected: a healthy revision before this)",
          application.name());
    }
    if (found == null) {
      throw precondition(
          "revision: %s of application %s (expected: an earlier revision, one of %s)",
          to, application.name(), earlier.stream().map(EarlierRevision::revision).toList());
    }
    if (found.wanted().digest().equals(application.wanted().digest())) {
      throw precondition(
          "revision: %s of application %s (expected: a revision that differs from the current %s)",
          to, application.name(), application.revision());
    }
    return found;
  }

  /**
   * Changes the weights of an application's route.
   *
   * @param known deployments of the application that the controller knows
   */
  CommandDecision split(
      DesiredState state,
      DesiredApplication application,
      Map<String, Double> weights,
      Set<String> known) {
    String name = application.name();
    List<String> unknown =
        weights.keySet().stream().filter(each -> !known.contains(each)).sorted().toList();
    requireSplit(weights, unknown, "one of " + known + " of application " + name);
    ApplicationSpec wanted = DeclaredEntry.withTraffic(application.wanted(), weights);
    ApplicationConfig config = reader.read(name, wanted);
    if (wanted.digest().equals(application.wanted().digest())) {
      return new CommandDecision(null, List.of(), Map.of(), application.revision());
    }
    CommandDecision split = declared(state, state.split(name, wanted, nowMs.getAsLong()), config);
    LOG.info("traffic: application {}: {}, revision {}", name, weights, split.answer());
    return split;
  }

  /**
   * Changes the weights of an endpoint.
   *
   * @param weights by {@code application#deployment}
   * @param unknown names in the weights without a running deployment
   */
  CommandDecision splitEndpoint(
      DesiredState state, String route, Map<String, Double> weights, List<String> unknown) {
    if (new RouteRules(reader.file()).endpoint(route) == null) {
      throw notFound("route: %s (expected: one of berth.endpoints)", route);
    }
    requireSplit(weights, unknown, "running deployments, as APPLICATION#DEPLOYMENT");
    LOG.info("traffic: endpoint {}: {}", route, weights);
    DesiredChange change = state.splitEndpoint(route, weights);
    ControllerEvent told = new ControllerEvent.EndpointSplit(route, weights);
    return new CommandDecision(change, List.of(told), Map.of(), state.head.revision());
  }

  private static void requireSplit(
      Map<String, Double> weights, List<String> unknown, String expected) {
    if (!unknown.isEmpty()) {
      String names = String.join(", ", unknown);
      throw invalid("traffic: %s (expected: %s)", names, expected);
    }
    try {
      TrafficOptions.requireWeights(weights);
    } catch (IllegalArgumentException wrong) {
      throw invalid("%s", wrong.getMessage());
    }
  }

  /** Returns the decision that declares the one application of a change. */
  private static CommandDecision declared(
      DesiredState state, DesiredChange change, ApplicationConfig config) {
    DesiredApplication next = change.applications().get(0);
    ControllerEvent told = new ControllerEvent.Declared(state.with(List.of(change)).declared(next));
    return new CommandDecision(change, List.of(told), Map.of(next.name(), config), next.revision());
  }
}

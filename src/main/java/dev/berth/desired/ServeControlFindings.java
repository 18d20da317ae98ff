package dev.berth.desired;

import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.Origin;
import dev.berth.config.ServeConfig;
import dev.berth.config.SubmittedConfig;
import dev.berth.controller.ControllerEvent;
import dev.berth.desired.DesiredApplication.Wanted;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.CommandRefused.Kind;
import dev.berth.protocol.port.ControllerCommands;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What each command of {@link ServeControl} comes to: reads it and compares it with the desired
 * state, which stays as it is. Off the loop; may block.
 */
final class ServeControlFindings {
  private static final Logger LOG = LoggerFactory.getLogger(ServeControlFindings.class);
  private static final String TEXT = "config";

  /**
   * @param change what is to be made durable and then applied; null when nothing is different
   * @param events what the controller is told then
   * @param read configurations of the applications that are different, by name
   * @param answer to the one who asked
   */
  record Outcome<T>(
      @Nullable DesiredChange change,
      List<ControllerEvent> events,
      Map<String, ApplicationConfig> read,
      T answer) {

    static <T> Outcome<T> nothing(T answer) {
      return new Outcome<>(null, List.of(), Map.of(), answer);
    }
  }

  private final ServeConfig file;
  private final Path folder;
  private final ServeControlStore store;
  private final DesiredState state;
  private final LongSupplier nowMs;

  /**
   * @param folder that relative paths of what is submitted start from
   * @param nowMs milliseconds since 1970
   */
  ServeControlFindings(
      ServeConfig file,
      Path folder,
      ServeControlStore store,
      DesiredState state,
      LongSupplier nowMs) {
    this.file = file;
    this.folder = folder;
    this.store = store;
    this.state = state;
    this.nowMs = nowMs;
  }

  /**
   * @param only the application that is declared; null when it is all of them
   * @param from the URI of the file that says it; null when none does
   */
  Outcome<Void> deploy(@Nullable String only, String config, @Nullable String from)
      throws IOException {
    if (from != null && (from.length() > Origin.MOST_CHARS || !from.startsWith("file://"))) {
      throw new CommandRefused(
          Kind.INVALID,
          ControllerCommands.FILE
              + ": "
              + from.substring(0, Math.min(80, from.length()))
              + " (expected: file://HOST/PATH, at most "
              + Origin.MOST_CHARS
              + " characters)");
    }
    ServeConfig submitted =
        only == null
            ? SubmittedConfig.read(TEXT, folder, config, file)
            : SubmittedConfig.readOne(TEXT, folder, config, only, file);
    String said = from != null && from.equals(file.origin().uri()) ? Said.START : from;
    submitted.warnings().forEach(warning -> LOG.warn("{}", warning));
    if (only != null) {
      requireFreeRoute(submitted.applications().get(0));
    }
    store.prepare(state);
    Map<String, Wanted> wanted =
        ServeControlInput.wanted(submitted.applications(), jars -> store.keep(jars, true));
    long now = nowMs.getAsLong();
    DesiredChange change =
        only == null
            ? state.deploy(wanted, submitted.targetCapacity(), said, now)
            : state.deploy(only, Objects.requireNonNull(wanted.get(only)), said, now);
    Map<String, DesiredApplication> changed = new LinkedHashMap<>();
    List<ControllerEvent> events = new ArrayList<>();
    if (change != null) {
      change.removed().forEach(name -> events.add(new ControllerEvent.Withdrawn(name)));
      change.applications().forEach(each -> changed.put(each.name(), each));
    }
    boolean everything =
        only == null && !Objects.equals(submitted.targetCapacity(), state.targetCapacity());
    Map<String, ApplicationConfig> configs = new HashMap<>();
    for (ApplicationConfig each : submitted.applications()) {
      DesiredApplication known = changed.get(each.name());
      if (known != null) {
        configs.put(
            each.name(), each.withJars(known.wanted().jars().stream().map(store::path).toList()));
      } else {
        known = Objects.requireNonNull(state.find(each.name()));
      }
      // What has not run yet is tried anew: what it waits for may be there by now.
      if (everything || changed.containsKey(each.name()) || !known.healthy()) {
        events.add(new ControllerEvent.Declared(state.declared(known)));
      }
    }
    LOG.info(
        "deploy: {} applications new or changed, {} as they were, {} removed",
        changed.size(),
        submitted.applications().size() - changed.size(),
        change == null ? 0 : change.removed().size());
    return new Outcome<>(change, events, configs, null);
  }

  private void requireFreeRoute(ApplicationConfig application) {
    String prefix = application.routePrefix();
    String other = prefix == null ? null : state.at(prefix);
    if (other != null && !other.equals(application.name())) {
      throw new ConfigException(
          List.of(
              application
                  .source()
                  .problem(
                      "route_prefix",
                      '"' + prefix + '"',
                      "unique; application " + other + " has it already")));
    }
  }

  Outcome<Void> deleteAll() throws IOException {
    return removed(state.deleteAll());
  }

  Outcome<Void> delete(String application) throws IOException {
    if (!state.isRefused(application)) {
      require(application);
    }
    return removed(state.delete(application));
  }

  private Outcome<Void> removed(@Nullable DesiredChange change) throws IOException {
    if (change == null) {
      return Outcome.nothing(null);
    }
    store.prepare(state);
    List<ControllerEvent> events = new ArrayList<>();
    change.removed().forEach(name -> events.add(new ControllerEvent.Withdrawn(name)));
    LOG.info("delete: {} applications removed", change.removed().size());
    return new Outcome<>(change, events, Map.of(), null);
  }

  private DesiredApplication require(String application) {
    DesiredApplication known = state.find(application);
    if (known == null) {
      throw new CommandRefused(
          Kind.NOT_FOUND, "application: " + application + " (expected: a deployed one)");
    }
    return known;
  }

  /**
   * @param known the deployments of the application; null when the controller knows none of it
   */
  Outcome<Void> scale(
      String application, String deployment, int replicas, @Nullable Set<String> known)
      throws IOException {
    if (replicas < 0 || replicas > DeploymentConfig.MAX_REPLICAS) {
      throw new CommandRefused(
          Kind.INVALID,
          "target_num_replicas: %s (expected: 0 to %s)"
              .formatted(replicas, DeploymentConfig.MAX_REPLICAS));
    }
    if (known == null || !known.contains(deployment)) {
      throw new CommandRefused(Kind.NOT_FOUND, "Application or Deployment not found");
    }
    DesiredApplication wanted = state.find(application);
    if (wanted == null) {
      throw new CommandRefused(Kind.PRECONDITION, "Deployment is deleted"); // Ray's words
    }
    if (!wanted.wanted().externalScaler()) {
      throw new CommandRefused(
          Kind.PRECONDITION,
          "external_scaler_enabled: false for application "
              + application
              + " (expected: true, in its configuration)");
    }
    DesiredChange change = state.scale(application, deployment, replicas);
    if (change == null) {
      return Outcome.nothing(null);
    }
    store.prepare(state);
    ControllerEvent event =
        new ControllerEvent.Scaled(new DeploymentId(application, deployment), replicas);
    return new Outcome<>(change, List.of(event), Map.of(), null);
  }

  Outcome<Long> rollback(String name) throws IOException {
    DesiredApplication application = require(name);
    DesiredChange change = state.rollback(application.name(), nowMs.getAsLong());
    if (change == null) {
      throw new CommandRefused(
          Kind.PRECONDITION,
          "application: "
              + application.name()
              + ": nothing to go back to (expected: a revision that ran before this one)");
    }
    DesiredApplication back = change.applications().get(0);
    String prefix = back.wanted().routePrefix();
    String other = prefix == null ? null : state.at(prefix);
    if (other != null && !other.equals(back.name())) {
      throw new CommandRefused(
          Kind.PRECONDITION,
          "route_prefix: \"" + prefix + "\" (expected: unique; application " + other + " has it)");
    }
    store.prepare(state);
    ApplicationConfig config =
        ServeControlInput.read(back.name(), back.wanted(), store::path, file);
    LOG.info(
        "rollback: application {}: revision {} is declared again, as {}",
        back.name(),
        Objects.requireNonNull(application.before()).revision(),
        back.revision());
    return new Outcome<>(
        change,
        List.of(new ControllerEvent.Declared(state.declared(back))),
        Map.of(back.name(), config),
        back.revision());
  }
}

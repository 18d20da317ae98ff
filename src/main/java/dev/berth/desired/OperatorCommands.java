package dev.berth.desired;

import static dev.berth.view.CommandRejectedException.invalid;
import static dev.berth.view.CommandRejectedException.notFound;
import static dev.berth.view.CommandRejectedException.precondition;

import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigOrigin;
import dev.berth.config.ServeConfig;
import dev.berth.config.SubmittedConfig;
import dev.berth.controller.ControllerEvent;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.desired.ServeControl.CommandDecision;
import dev.berth.desired.ServeControl.StateCommand;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.ControllerCommands;
import dev.berth.view.DeployOutcome;
import dev.berth.view.DeployOutcome.ApplicationChange;
import dev.berth.view.DeployOutcome.ApplicationChangeKind;
import dev.berth.view.RevisionDetails;
import dev.berth.view.ServeDetails;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The commands of operators, from the request to the result. Called on the control loop; the part
 * after {@code state ->} runs off it in the order of the commands, and may block.
 *
 * @param folder base of relative paths in submitted configurations
 * @param nowMs milliseconds since 1970
 * @param id idempotency key of the commands; null for none
 */
record OperatorCommands(
    ServeControl serve, Path folder, EntryReader reader, TimeOfDay nowMs, @Nullable String id)
    implements ControllerCommands {
  private static final Logger LOG = LoggerFactory.getLogger(OperatorCommands.class);

  /** Maximum length of an id, in characters. */
  static final int MAX_ID_CHARS = 128;

  @Override
  public ControllerCommands once(@Nullable String id) {
    return new OperatorCommands(serve, folder, reader, nowMs, id);
  }

  private Future<@Nullable Long> ask(Supplier<String> what, StateCommand command) {
    return ask(what, () -> command);
  }

  /**
   * @param command created on the loop after the previous commands
   */
  private Future<@Nullable Long> ask(Supplier<String> what, Supplier<StateCommand> command) {
    return serve.carryOut(0, () -> once(what, command.get()));
  }

  /**
   * Returns a command that a repeat with the same id does not execute again: it returns the
   * recorded result.
   *
   * @param what full text of the command, up to megabytes, so that it is created only when needed
   */
  private StateCommand once(Supplier<String> what, StateCommand command) {
    if (id == null) {
      return command;
    }
    if (id.isBlank() || id.length() > MAX_ID_CHARS) {
      throw invalid("%s: %s characters (expected: 1 to %s)", ID, id.length(), MAX_ID_CHARS);
    }
    return state -> {
      String digest = DeclaredEntry.digest(what.get());
      long now = nowMs.steadyMs();
      CommandResult first = state.answer(id, now);
      if (first == null) {
        return command.on(state).answering(state, id, now, digest);
      }
      if (!first.command().equals(digest)) {
        throw invalid("%s: %s, of another command (expected: a unique id)", ID, id);
      }
      return new CommandDecision(null, List.of(), Map.of(), first.revision());
    };
  }

  // --- deploy ---

  @Override
  public Future<DeployOutcome> deploy(DeployRequest what) {
    AtomicReference<DeployOutcome> outcome =
        new AtomicReference<>(new DeployOutcome(0, List.of())); // result of a repeated command
    String kept = what.prunes() ? "" : "kept ";
    Supplier<String> text =
        () ->
            "deploy %s of %s: %s%s".formatted(what.application(), what.file(), kept, what.config());
    return serve
        .carryOut(
            what.config().length(),
            () -> {
              Set<String> failing = serve.marks.failing(); // after the previous commands
              StateCommand command = state -> deploy(state, what, failing, outcome);
              return what.dryRun() ? command : once(text, command);
            })
        .map(done -> outcome.get());
  }

  private CommandDecision deploy(
      DesiredState state,
      DeployRequest what,
      Set<String> failing,
      AtomicReference<DeployOutcome> outcome)
      throws IOException {
    String only = what.application();
    String config = what.config();
    String from = what.file();
    if (what.revision() != null && what.revision() != state.head.revision()) {
      throw precondition(
          "revision: %s (expected: %s, since another command declared a change meanwhile)",
          what.revision(), state.head.revision());
    }
    if (from != null
        && (from.length() > ConfigOrigin.MAX_URI_CHARS || !from.startsWith("file://"))) {
      throw invalid(
          "%s: %s (expected: file://HOST/PATH, at most %s characters)",
          FILE, from.substring(0, Math.min(80, from.length())), ConfigOrigin.MAX_URI_CHARS);
    }
    ServeConfig file = reader.file();
    DeclaredJarStore jars = reader.jars();
    ServeConfig submitted =
        SubmittedConfig.read(
            SubmittedConfig.SENT, folder, config, only, file, reader.jars()::findQuietly);
    String by = from != null && from.equals(file.origin().uri()) ? LastApplied.START : from;
    submitted.warnings().forEach(warning -> LOG.warn("{}", warning));
    new RouteRules(file).requireFree(state, submitted.applications(), what, by);
    if (!what.dryRun()) {
      serve.commits.prepare();
    }
    Map<String, ApplicationSpec> wanted =
        DeclaredEntry.toSpecs(
            submitted.applications(), what.dryRun() ? jars::identify : jars::keep);
    long now = nowMs.getAsLong();
    DesiredChange change =
        only == null
            ? state.deploy(
                wanted, submitted.find(ServeConfig.TARGET_CAPACITY), by, what.prunes(), now)
            : state.deploy(only, Objects.requireNonNull(wanted.get(only)), by, now);
    DesiredState next = change == null ? state : state.with(List.of(change));
    boolean ofTheStart = what.prunes() || LastApplied.START.equals(by);
    Set<String> removed =
        new TreeSet<>(only == null && ofTheStart ? serve.refusedApplications() : Set.of());
    removed.addAll(change == null ? List.of() : change.removed());
    removed.removeAll(wanted.keySet());
    Set<String> named = wanted.keySet();
    Predicate<String> own = name -> state.goes(name, by, false);
    List<ApplicationChange> all = changes(state, next, named, removed, own);
    outcome.set(new DeployOutcome(state.head.revision(), only == null ? all : all.subList(0, 1)));
    if (what.dryRun()) {
      return new CommandDecision(null, List.of());
    }
    List<ControllerEvent> events = new ArrayList<>(withdrawn(removed));
    boolean everything =
        only == null && !Objects.equals(next.head.targetCapacity(), state.head.targetCapacity());
    Map<String, ApplicationConfig> read = new HashMap<>(); // of the changed applications
    for (ApplicationConfig each : submitted.applications()) {
      DesiredApplication known = Objects.requireNonNull(next.find(each.name()));
      if (known != state.find(each.name())) {
        read.put(each.name(), each.placeless());
      }
      // An application that has not run yet is retried, as a missing dependency may exist by now.
      // So is one that failed after it ran; it stays healthy while no previous revision can replace
      // it.
      boolean again = !known.healthy() || failing.contains(each.name());
      if (everything || again || read.containsKey(each.name())) {
        events.add(new ControllerEvent.Declared(next.declared(known)));
      }
    }
    LOG.info(
        "deploy: {} applications new or changed, {} unchanged, {} removed",
        read.size(),
        submitted.applications().size() - read.size(),
        removed.size());
    return new CommandDecision(change, events, read, null);
  }

  private static List<ApplicationChange> changes(
      DesiredState state,
      DesiredState next,
      Set<String> named,
      Set<String> removed,
      Predicate<String> own) {
    List<ApplicationChange> changes = new ArrayList<>();
    for (String name : named) {
      DesiredApplication was = state.find(name);
      long revision = Objects.requireNonNull(next.find(name)).revision();
      boolean same = was != null && was.revision() == revision;
      ApplicationChangeKind word =
          was == null
              ? ApplicationChangeKind.NEW
              : same ? ApplicationChangeKind.UNCHANGED : ApplicationChangeKind.CHANGED;
      changes.add(new ApplicationChange(name, word, revision));
    }
    for (String name : removed) {
      DesiredApplication was = state.find(name);
      ApplicationChangeKind word =
          own.test(name) ? ApplicationChangeKind.DELETED : ApplicationChangeKind.PRUNED;
      changes.add(new ApplicationChange(name, word, was == null ? 0 : was.revision()));
    }
    for (DesiredApplication each : next.applications()) {
      if (!named.contains(each.name())) {
        changes.add(
            new ApplicationChange(each.name(), ApplicationChangeKind.KEPT, each.revision()));
      }
    }
    return changes;
  }

  private static List<ControllerEvent> withdrawn(Collection<String> applications) {
    return applications.stream().<ControllerEvent>map(ControllerEvent.Withdrawn::new).toList();
  }

  // --- delete ---

  @Override
  public Future<Void> deleteAll() {
    return ask(
            () -> "delete all",
            state -> {
              List<String> all = new ArrayList<>(serve.refusedApplications());
              state.applications().forEach(each -> all.add(each.name()));
              return removed(state.deleteAll(), all);
            })
        .mapEmpty();
  }

  @Override
  public Future<Void> delete(String application) {
    return ask(
            () -> "delete " + application,
            state -> {
              boolean there = !serve.refusedApplications().contains(application);
              return removed(
                  there ? state.delete(require(state, application).name()) : null,
                  List.of(application));
            })
        .mapEmpty();
  }

  private CommandDecision removed(@Nullable DesiredChange change, List<String> names) {
    if (!names.isEmpty()) {
      LOG.info("delete: {} applications removed", names.size());
    }
    return new CommandDecision(change, withdrawn(names));
  }

  private static DesiredApplication require(DesiredState state, String application) {
    DesiredApplication known = state.find(application);
    if (known == null) {
      throw unknown(application);
    }
    return known;
  }

  private static CommandRejectedException unknown(String application) {
    return notFound("application: %s (expected: a deployed one)", application);
  }

  // --- scale ---

  @Override
  public Future<Void> scale(String application, String deployment, int replicas) {
    return scale(new DeploymentId(application, deployment), replicas, false).mapEmpty();
  }

  @Override
  public Future<Boolean> pause(String application, String deployment, @Nullable Integer replicas) {
    return scale(new DeploymentId(application, deployment), replicas, true);
  }

  /**
   * Sets the number of replicas of a deployment.
   *
   * @param replicas null for the number that autoscaling finds
   * @param pauses whether autoscaling is paused at that number
   */
  private Future<Boolean> scale(DeploymentId which, @Nullable Integer replicas, boolean pauses) {
    AtomicBoolean follows = new AtomicBoolean();
    return ask(
            () -> (pauses ? "pause " : "scale ") + which + " to " + replicas,
            () -> {
              Boolean its = deployments(which.application()).get(which.name());
              follows.set(pauses && Boolean.TRUE.equals(its));
              return state -> ScaleRules.decide(state, which, replicas, its, pauses);
            })
        .map(done -> follows.get());
  }

  // --- rollback ---

  private RevisionRules revisions() {
    return new RevisionRules(reader, serve.directory(), nowMs);
  }

  @Override
  public Future<Long> rollback(String application, @Nullable Long to, boolean dryRun) {
    StateCommand command =
        state -> revisions().rollback(state, require(state, application), to, dryRun);
    Supplier<String> text = () -> "rollback " + application + (to == null ? "" : " to " + to);
    return (dryRun ? serve.carryOut(0, () -> command) : ask(text, command))
        .map(Objects::requireNonNull);
  }

  // --- split ---

  @Override
  public Future<Long> split(String application, Map<String, Double> weights) {
    return ask(
            () -> "split " + application + " " + new TreeMap<>(weights),
            () -> {
              Set<String> known = deployments(application).keySet();
              return on -> revisions().split(on, require(on, application), weights, known);
            })
        .map(Objects::requireNonNull);
  }

  @Override
  public Future<Long> splitEndpoint(String route, Map<String, Double> weights) {
    return ask(
            () -> "split " + route + " " + new TreeMap<>(weights),
            () -> {
              List<String> unknown =
                  weights.keySet().stream().filter(each -> !isKnown(each)).toList();
              return state -> revisions().splitEndpoint(state, route, weights, unknown);
            })
        .map(Objects::requireNonNull);
  }

  /** Returns the deployments of an application by name, and whether they autoscale. */
  private Map<String, Boolean> deployments(String application) {
    return Objects.requireNonNullElse(serve.controls().deployments(application), Map.of());
  }

  private boolean isKnown(String side) {
    int at = side.indexOf('#');
    return at > 0 && deployments(side.substring(0, at)).containsKey(side.substring(at + 1));
  }

  @Override
  public Future<List<RevisionDetails>> history(String application) {
    DesiredState state = serve.state;
    DesiredApplication known = require(state, application);
    List<RevisionDetails> all = new ArrayList<>();
    all.add(known.details());
    state.history.earlier(known).forEach(each -> all.add(each.details(known)));
    return Future.succeededFuture(all);
  }

  // --- commands that declare nothing ---

  @Override
  public Future<ServeDetails> details() {
    return serve.controls().details(serve.state.head.targetCapacity(), serve.directory());
  }

  @Override
  public Future<Supplier<JsonObject>> autoscaling(String application, String deployment) {
    DeploymentId id = new DeploymentId(application, deployment);
    Map<String, Boolean> known = serve.controls().deployments(application);
    Supplier<JsonObject> found = serve.controls().autoscaling(id);
    if (known == null) {
      throw unknown(application);
    }
    if (found == null) {
      String why = known.containsKey(deployment) ? " does not autoscale" : "";
      throw notFound("deployment: %s%s (expected: one with autoscaling_config)", id, why);
    }
    return Future.succeededFuture(found);
  }

  @Override
  public Future<Void> restartController() {
    return serve.nextTerm().compose(serve.controls()::restart);
  }

  @Override
  public Future<Void> drain() {
    return serve.controls().drain();
  }
}

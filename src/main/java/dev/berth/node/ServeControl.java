package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.Problem;
import dev.berth.config.ServeConfig;
import dev.berth.config.SubmittedConfig;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeclaredApplication;
import dev.berth.controller.DesiredApplication;
import dev.berth.controller.DesiredApplication.Wanted;
import dev.berth.controller.DesiredChange;
import dev.berth.controller.DesiredState;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.ServeDetails;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.CommandRefused.Kind;
import dev.berth.protocol.port.ControllerCommands;
import io.vertx.core.Future;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out what operators ask of the controller, one command after the other: read it, compare
 * it with the {@link DesiredState}, make the difference durable, all off the loop; then apply it,
 * tell the controller, and answer. What cannot be made durable changes nothing.
 *
 * <p>Its state belongs to the control loop, but while a command is under way nothing changes it,
 * and the command reads it.
 */
public final class ServeControl implements ControllerCommands, Builds.Sources {
  private static final Logger LOG = LoggerFactory.getLogger(ServeControl.class);
  private static final String TEXT = "config";

  /** What it needs of the controller and of the instance. Control loop. */
  public interface Controls {
    /** Tells the controller, in the order of the calls. */
    void tell(ControllerEvent event);

    /**
     * @param targetCapacity null when nothing was said of it
     * @param stateDir null when what is declared is kept in memory only
     */
    Future<ServeDetails> details(@Nullable Double targetCapacity, @Nullable String stateDir);

    /** Names of the deployments; empty before they are known; null for an unknown application. */
    @Nullable Set<String> deployments(String application);

    /** Starts the controller anew under that term. */
    Future<Void> restart(long term);

    Future<Void> drain();
  }

  /** What a command found out off the loop, and what the controller is told of it. */
  private record Outcome<T>(
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
  private final ServeControlQueue queue;
  private final LongSupplier nowMs;
  private final Controls controls;
  private final DesiredState state = new DesiredState();
  private final Map<String, ApplicationConfig> read = new HashMap<>(); // what is wanted, by name
  private final Map<String, String> unreadable = new HashMap<>(); // why, by name
  private final Map<String, Long> ran = new LinkedHashMap<>(); // revisions, to be made durable
  private boolean fromFile;

  /**
   * @param file what the instance was started with
   * @param folder that relative paths of what is submitted start from
   * @param store not opened yet
   * @param offLoop may block; one thread is enough
   * @param control runs tasks on the control loop
   * @param nowMs milliseconds since 1970
   */
  public ServeControl(
      ServeConfig file,
      Path folder,
      ServeControlStore store,
      Executor offLoop,
      Executor control,
      LongSupplier nowMs,
      Controls controls) {
    this.file = file;
    this.folder = folder;
    this.store = store;
    this.queue = new ServeControlQueue(offLoop, control);
    this.nowMs = nowMs;
    this.controls = controls;
  }

  // --- start ---

  /**
   * Reads what is kept, and decides between that and the file. Blocks; once, on any thread, before
   * everything else.
   *
   * @throws StartFailedException when what is kept cannot be used
   */
  public void open() {
    store.open(state);
    try {
      decide();
    } catch (IOException failed) {
      throw new StartFailedException("state: " + StartFailedException.describe(failed));
    }
    nextTerm();
    state.applications().forEach(this::readKept);
  }

  /** The file wins when it says something else than the file that was declared last. */
  private void decide() throws IOException {
    Map<String, Wanted> declared =
        ServeControlInput.wanted(file.applications(), this::identifyOrKeep);
    String digest = ServeControlInput.digest(declared, file.targetCapacity());
    boolean empty = state.applications().isEmpty();
    fromFile = !declared.isEmpty() && (empty || !digest.equals(state.file()));
    if (fromFile) {
      boolean kept = store.isUsed();
      Map<String, Wanted> wanted =
          kept
              ? ServeControlInput.wanted(file.applications(), jars -> store.keep(jars, true))
              : declared;
      keep(state.deploy(wanted, file.targetCapacity(), digest, nowMs.getAsLong()));
      if (!empty) {
        LOG.info("state: the applications of the file are declared: it says something new");
      }
    } else if (!empty) {
      LOG.info(
          "state: {} applications from {}{}",
          state.applications().size(),
          store.directory(),
          declared.isEmpty() ? "" : "; those of the file were declared before");
    }
  }

  /** One that is not kept does no harm while there is one instance. */
  private void nextTerm() {
    DesiredChange change = state.nextTerm();
    try {
      keep(change);
    } catch (IOException failed) {
      LOG.warn("state: the term of the controller is not kept: {}", failed.toString());
      state.apply(change);
    }
  }

  private List<DesiredApplication.Jar> identifyOrKeep(List<Path> jars) throws IOException {
    if (!store.isUsed()) {
      return store.keep(jars, false);
    }
    List<DesiredApplication.Jar> identified = new ArrayList<>();
    for (Path jar : jars) {
      identified.add(JarStore.identify(jar));
    }
    return identified;
  }

  /** What a start changes is kept if anything was kept before. */
  private void keep(@Nullable DesiredChange change) throws IOException {
    if (change != null) {
      if (store.isUsed()) {
        store.append(change, state);
      }
      state.apply(change);
    }
  }

  private void readKept(DesiredApplication application) {
    String name = application.name();
    ApplicationConfig given = ofFile(name);
    if (fromFile && given != null) {
      read.put(
          name, given.withJars(application.wanted().jars().stream().map(store::path).toList()));
      return;
    }
    try {
      read.put(name, ServeControlInput.read(name, application.wanted(), store::path, file));
    } catch (ConfigException refused) {
      LOG.error("state: application {}: {}", name, refused.getMessage());
      unreadable.put(name, refused.getMessage());
    }
  }

  private @Nullable ApplicationConfig ofFile(String name) {
    return file.applications().stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElse(null);
  }

  /** Whether what runs at first is what the file says, and not what was kept. */
  public boolean fromFile() {
    return fromFile;
  }

  /** What is declared. */
  public List<DeclaredApplication> applications() {
    return state.applications().stream().map(DesiredApplication::declared).toList();
  }

  /** Of the controller that is to run, at least 1. */
  public long term() {
    return state.term();
  }

  /** Tells the controller of everything that is declared: once at the start, and when it is new. */
  public void begin() {
    applications().forEach(each -> controls.tell(new ControllerEvent.Declared(each)));
  }

  // --- what the parts of the instance ask and tell ---

  @Override
  public Builds.@Nullable Source find(String application, long revision) {
    DesiredApplication wanted = state.find(application);
    if (wanted == null || wanted.revision() != revision) {
      return null;
    }
    ApplicationConfig config = read.get(application);
    if (config == null) {
      String why = unreadable.getOrDefault(application, "unknown (expected: known)");
      controls.tell(new ControllerEvent.BuildFailed(application, revision, why));
      return null;
    }
    return new Builds.Source(config, file.withTargetCapacity(state.targetCapacity()));
  }

  /** An application is in a new state; one that runs can be had back later. */
  public void announced(Announce announce) {
    DesiredApplication wanted = state.find(announce.application());
    if (announce.status() != ApplicationStatus.RUNNING
        || wanted == null
        || wanted.healthy()
        || wanted.revision() != announce.revision()) {
      return;
    }
    boolean first = ran.isEmpty();
    ran.put(announce.application(), announce.revision());
    if (first) {
      queue
          .addInternal(this::markHealthy)
          .onFailure(failed -> LOG.warn("state: what ran is not kept: {}", failed.toString()));
    }
  }

  private ServeControlQueue.Work<Void> markHealthy() {
    Map<String, Long> revisions = Map.copyOf(ran);
    ran.clear();
    return () -> {
      DesiredChange change = state.markHealthy(revisions);
      if (change != null && store.isUsed()) {
        store.append(change, state);
      }
      return done -> {
        if (change != null) {
          state.apply(change);
        }
      };
    };
  }

  /** Gives the directory back when the command under way has ended; later ones are refused. */
  public Future<Void> close() {
    return queue.close(store::close);
  }

  // --- commands ---

  @Override
  public Future<Void> deploy(String config) {
    return command(
        config.length(),
        () -> {
          ServeConfig submitted = SubmittedConfig.read(TEXT, folder, config, file);
          return declare(submitted, null);
        });
  }

  @Override
  public Future<Void> deploy(String application, String config) {
    return command(
        config.length(),
        () -> {
          ServeConfig submitted = SubmittedConfig.readOne(TEXT, folder, config, application, file);
          return declare(submitted, application);
        });
  }

  /**
   * @param only the application that is declared; null when it is all of them
   */
  private Outcome<Void> declare(ServeConfig submitted, @Nullable String only) throws IOException {
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
            ? state.deploy(wanted, submitted.targetCapacity(), null, now)
            : state.deploy(only, Objects.requireNonNull(wanted.get(only)), now);
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
        events.add(new ControllerEvent.Declared(known.declared()));
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

  @Override
  public Future<Void> deleteAll() {
    return command(0, () -> removed(state.deleteAll()));
  }

  @Override
  public Future<Void> delete(String application) {
    return command(
        0,
        () -> {
          require(application);
          return removed(state.delete(application));
        });
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

  @Override
  public Future<Void> scale(String application, String deployment, int replicas) {
    return queue.add(
        0,
        () -> {
          Set<String> known = controls.deployments(application);
          return work(() -> scaled(application, deployment, replicas, known));
        });
  }

  private Outcome<Void> scaled(
      String application, String deployment, int replicas, @Nullable Set<String> known)
      throws IOException {
    if (replicas < 0) {
      throw new CommandRefused(
          Kind.INVALID, "target_num_replicas: " + replicas + " (expected: 0 or more)");
    }
    if (known == null || !known.contains(deployment)) {
      throw new CommandRefused(Kind.NOT_FOUND, "Application or Deployment not found");
    }
    DesiredApplication wanted = state.find(application);
    if (wanted == null) {
      throw new CommandRefused(
          Kind.PRECONDITION,
          "deployment: "
              + new DeploymentId(application, deployment)
              + " is being deleted"
              + " (expected: one that stays)");
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

  @Override
  public Future<Long> rollback(String application) {
    return command(0, () -> rolledBack(require(application)));
  }

  private Outcome<Long> rolledBack(DesiredApplication application) throws IOException {
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
        List.of(new ControllerEvent.Declared(back.declared())),
        Map.of(back.name(), config),
        back.revision());
  }

  @Override
  public Future<ServeDetails> details() {
    Path directory = store.directory();
    return controls.details(
        state.targetCapacity(), directory == null ? null : directory.toString());
  }

  @Override
  public Future<Void> restartController() {
    Future<Void> kept =
        queue.add(
            0,
            () ->
                () -> {
                  DesiredChange change = state.nextTerm();
                  if (store.isUsed()) {
                    store.append(change, state);
                  }
                  return done -> state.apply(change);
                });
    return kept.compose(term -> controls.restart(state.term()));
  }

  @Override
  public Future<Void> drain() {
    return controls.drain();
  }

  // --- how a command is carried out ---

  /** Off the loop; a failure refuses the command. */
  @FunctionalInterface
  private interface Finding<T> {
    Outcome<T> find() throws IOException;
  }

  private <T> Future<T> command(int chars, Finding<T> finding) {
    return queue.add(chars, () -> work(finding));
  }

  /** Finds out what changes and makes it durable; what is given back applies it, on the loop. */
  private <T> ServeControlQueue.Work<T> work(Finding<T> finding) {
    return () -> {
      Outcome<T> outcome;
      try {
        outcome = finding.find();
        if (outcome.change() != null) {
          store.append(outcome.change(), state);
        }
      } catch (ConfigException refused) {
        throw new CommandRefused(
            Kind.INVALID, refused.problems().stream().map(Problem::toString).toList());
      } catch (IOException failed) {
        LOG.error("state: a command is refused, since it cannot be kept: {}", failed.toString());
        throw new CommandRefused(
            Kind.UNAVAILABLE,
            "cannot be kept: "
                + StartFailedException.describe(failed)
                + " (expected: a state_dir that can be written, or berth.ephemeral)");
      }
      return done -> {
        apply(outcome);
        done.complete(outcome.answer());
      };
    };
  }

  private void apply(Outcome<?> outcome) {
    DesiredChange change = outcome.change();
    if (change != null) {
      state.apply(change);
      change.removed().forEach(read::remove);
      change.removed().forEach(unreadable::remove);
    }
    read.putAll(outcome.read());
    unreadable.keySet().removeAll(outcome.read().keySet());
    outcome.events().forEach(controls::tell);
  }
}

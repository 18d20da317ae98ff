package dev.berth.desired;

import dev.berth.api.DeploymentId;
import dev.berth.code.Builds;
import dev.berth.code.StartFailedException;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Problem;
import dev.berth.controller.Autoscaled;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.DesiredChange.Head;
import dev.berth.protocol.ServeDetails;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.CommandRefused.Kind;
import dev.berth.protocol.port.ControllerCommands;
import dev.berth.protocol.port.Loop;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out what operators ask of the controller, one command after the other: each is computed
 * on the {@link DesiredState}, committed by the {@link StateLog} and read, all off the loop; then
 * the state is replaced here, the controller is told, and the command answered. What cannot be
 * committed changes nothing. Belongs to the control loop.
 */
public final class ServeControl implements Builds.Sources {
  private static final Logger LOG = LoggerFactory.getLogger(ServeControl.class);

  /** How often a command is computed anew, since another change was committed meanwhile. */
  static final int MOST_TRIES = 8;

  /** Of {@link #historyChars}; beyond them the oldest go. */
  public static final long MOST_HISTORY_CHARS = History.MOST_CHARS;

  /** What it needs of the controller and of the instance. Control loop. */
  public interface Controls {
    /** Tells the controller, in the order of the calls. */
    void tell(ControllerEvent event);

    /**
     * @param targetCapacity null when nothing was said of it
     * @param stateDir null when what is declared is kept in memory only
     */
    Future<ServeDetails> details(@Nullable Double targetCapacity, @Nullable String stateDir);

    /** See {@link ControllerCommands#autoscaling}; null of one that does not follow its load. */
    default @Nullable Supplier<JsonObject> autoscaling(DeploymentId deployment) {
      return null;
    }

    /** Names of the deployments; empty before they are known; null for an unknown application. */
    @Nullable Set<String> deployments(String application);

    /** Whether the number of replicas of a deployment follows its load, as far as is known. */
    default boolean autoscales(DeploymentId deployment) {
      return false;
    }

    /** Copies of jars that code may be loaded from; null when that is not known: none goes. */
    default @Nullable Set<Path> jarsInUse() {
      return null;
    }

    /** Starts the controller anew under that term. */
    Future<Void> restart(long term);

    Future<Void> drain();
  }

  /**
   * What a command comes to.
   *
   * @param change what is to be committed and then applied; null when nothing is different
   * @param events what the controller is told then
   * @param read configurations of applications that are different, as far as they are known
   * @param answer to the one who asked
   */
  record Decision(
      @Nullable DesiredChange change,
      List<ControllerEvent> events,
      Map<String, ApplicationConfig> read,
      @Nullable Long answer) {

    Decision(@Nullable DesiredChange change, List<ControllerEvent> events) {
      this(change, events, Map.of(), null);
    }

    /** The same, by a command with an id. */
    Decision answering(DesiredState on, String id, long nowMs, String command) {
      Answer known = new Answer(id, nowMs, command, answer);
      return new Decision(on.answering(change, known), events, read, answer);
    }
  }

  /** Computes what is to change of a state. Off the loop; a failure refuses the command. */
  @FunctionalInterface
  interface Command {
    Decision on(DesiredState state) throws IOException;
  }

  /**
   * A command that was carried out off the loop.
   *
   * @param state from then on
   * @param read what can be read of it anew
   */
  private record Committed(
      Decision decision, DesiredState state, Map<String, EntryReader.Reading> read) {}

  private final Loop control;
  private final StateLog log;
  private final KeptJars jars;
  private final EntryReader reader;
  private final FirstState first;
  private final CommandQueue queue;
  private final RevisionMarks marks;
  private final Controls controls;
  private final OperatorCommands commands;
  private final Map<String, EntryReader.Reading> read = new HashMap<>(); // what runs, by name
  private final Map<String, DeclaredApplication> refused = new LinkedHashMap<>(); // by name
  private final LatestNotes<DeploymentId, @Nullable Autoscaled> found;
  private DesiredState state = DesiredState.EMPTY; // that is applied
  private boolean removing; // of jars, is queued

  /**
   * @param file what the instance was started with
   * @param folder that relative paths of what is submitted start from
   * @param log not opened yet
   * @param offLoop may block; one thread is enough
   * @param control the control loop
   * @param nowMs milliseconds since 1970
   */
  public ServeControl(
      ServeConfig file,
      Path folder,
      StateLog log,
      Executor offLoop,
      Loop control,
      LongSupplier nowMs,
      Controls controls) {
    this.control = control;
    this.log = log;
    this.jars = new KeptJars(log, nowMs, JarStore.MOST_BYTES);
    this.reader = new EntryReader(jars, file);
    this.first = new FirstState(file, log, jars, reader, nowMs);
    this.queue = new CommandQueue(offLoop, control);
    this.marks = new RevisionMarks(queue, decision -> note("what ran or failed", decision));
    this.found =
        new LatestNotes<>(
            queue,
            all ->
                note("what autoscaling found", on -> new Decision(on.autoscaled(all), List.of())));
    this.controls = controls;
    this.commands = new OperatorCommands(this, folder, reader, controls, nowMs, null);
  }

  // --- start ---

  /**
   * Reads what is kept, and decides between that and the file. Blocks; once, on any thread, before
   * everything else.
   *
   * @throws StartFailedException when what is kept cannot be used
   */
  public void open() {
    first.begin();
    state = log.state();
    read.putAll(first.read);
    refused.putAll(first.refused);
    marks.open(state);
  }

  /** Whether what runs at first is what the file says, and not what was kept. */
  public boolean fromFile() {
    return first.fromFile();
  }

  /**
   * What is declared, and what a start named and could not declare, until it is deleted or
   * deployed.
   */
  public List<DeclaredApplication> applications() {
    return Stream.concat(state.declared().stream(), refused.values().stream()).toList();
  }

  /** Of the controller that is to run, at least 1. */
  public long term() {
    return state.head().term();
  }

  // --- what the parts of the instance ask and tell ---

  @Override
  public Builds.@Nullable Source find(String application, long revision) {
    DesiredApplication wanted = state.find(application);
    long current = wanted != null ? wanted.revision() : refused.containsKey(application) ? 0 : -1;
    if (current != revision) {
      return null;
    }
    EntryReader.Reading entry = read.getOrDefault(application, EntryReader.Reading.NONE);
    if (entry.config() == null) {
      controls.tell(new ControllerEvent.BuildFailed(application, revision, entry.problem()));
      return null;
    }
    Head head = state.head();
    return new Builds.Source(entry.config(), reader.around(head.targetCapacity()), head.rises());
  }

  /** An application is in a new state: whether it can be had back later, or is not tried again. */
  public void announced(Announce announce) {
    assert control.isHere();
    marks.announced(announce, state.find(announce.application()));
  }

  /**
   * What autoscaling found is kept, behind the commands that wait; of what is told of a deployment
   * before its turn comes only the last is. A crash leaves that or what was kept before.
   *
   * @param now null of a deployment that is gone, or follows its load no more
   */
  public void autoscaled(DeploymentId deployment, @Nullable Autoscaled now) {
    assert control.isHere();
    found.add(deployment, now);
  }

  /** What operators may ask for. */
  public ControllerCommands commands() {
    return commands;
  }

  /** Commands that wait for those before them. Any thread. */
  public int waitingCommands() {
    return queue.size();
  }

  /** Answers that are kept for commands that are sent again. Any thread. */
  public int keptAnswers() {
    return log.state().keptAnswers();
  }

  /** Characters of the entries of what ran earlier. Any thread. */
  public long historyChars() {
    return log.state().history().chars();
  }

  /** Gives the directory back when the command under way has ended; later ones are refused. */
  public Future<Void> close() {
    return queue.close(
        () -> {
          log.close();
          jars.close();
          return null;
        });
  }

  // --- what commands ask ---

  /** The weights that endpoints were given, by route. Any thread. */
  public Map<String, Map<String, Double>> endpointSplits() {
    return state.head().splits();
  }

  /** What is applied. */
  DesiredState state() {
    return state;
  }

  /** Applications that have failed to deploy, for a command whose turn comes. */
  Set<String> failing() {
    return marks.failing();
  }

  /** Applications that a start named and could not declare; a command that is under way may ask. */
  Set<String> refused() {
    return refused.keySet();
  }

  /** Where what is declared is kept; null when it is not. */
  @Nullable String directory() {
    Path directory = log.directory();
    return directory == null ? null : directory.toString();
  }

  /** Off the loop: a change is to be kept; whoever keeps jars for it asks before that. */
  void prepare() throws IOException {
    log.prepare();
    jars.prepare();
  }

  // --- how a command is carried out ---

  /**
   * Completes on the loop, when everybody concerned was told.
   *
   * @param length characters of what is submitted with it
   * @param command made on the loop when its turn comes
   */
  Future<@Nullable Long> carryOut(int length, Supplier<Command> command) {
    return queue.add(
        length,
        () -> {
          Command now = command.get();
          Set<Path> running = controls.jarsInUse(); // what is built meanwhile is declared
          return queue
              .offLoop(() -> commit(running, now))
              .map(this::apply)
              .onFailure(refused -> state = log.state()); // without what gave way to it
        });
  }

  private Committed commit(@Nullable Set<Path> running, Command command) {
    jars.begin(running);
    try {
      for (int tries = 0; tries < MOST_TRIES; tries++) {
        DesiredState on = log.state();
        Decision decision = command.on(on);
        DesiredChange change = decision.change();
        DesiredState next = change == null ? on : propose(change);
        if (next != null) {
          return committed(decision, next);
        }
      }
    } catch (ConfigException refused) {
      throw new CommandRefused(
          Kind.INVALID, refused.problems().stream().map(Problem::toString).toList());
    } catch (IOException failed) {
      LOG.error("state: a command is refused, since it cannot be kept: {}", failed.toString());
      String why = "cannot be kept: " + StartFailedException.describe(failed);
      throw new CommandRefused(
          Kind.UNAVAILABLE,
          why + " (expected: a state_dir that can be written, or berth.ephemeral)");
    }
    throw new CommandRefused(
        Kind.UNAVAILABLE,
        "others change what is declared all the while (expected: less of them, try again)");
  }

  /** Null when it is to be computed anew: what ran earlier gave way meanwhile. */
  private @Nullable DesiredState propose(DesiredChange change) throws IOException {
    prepare();
    try {
      return log.propose(change);
    } catch (IOException failed) {
      if (!log.isFull() || !jars.makeRoom()) {
        throw failed;
      }
      while (log.isFull() && jars.makeRoom()) {}
      return null;
    }
  }

  private Committed committed(Decision decision, DesiredState next) {
    return new Committed(
        decision, next, reader.readAnew(next.applications(), decision.read(), read));
  }

  private @Nullable Long apply(Committed done) {
    DesiredChange change = done.decision().change();
    read.putAll(done.read());
    if (change != null) {
      boolean frees = KeptJars.frees(change, state, done.state());
      state = done.state();
      if (frees) {
        removeUnusedJars();
      }
      change.removed().forEach(this::forget);
      change.applications().forEach(each -> refused.remove(each.name()));
    }
    for (ControllerEvent event : done.decision().events()) {
      if (event instanceof ControllerEvent.Withdrawn gone) {
        refused.remove(gone.application());
      }
      controls.tell(event);
    }
    return done.decision().answer();
  }

  private void forget(String application) {
    read.remove(application);
    marks.forget(application);
  }

  /** The turn of the instance itself has come, to say something whose loss does no harm. */
  private Future<@Nullable Long> note(String what, Function<DesiredState, Decision> decision) {
    return queue
        .offLoop(
            () -> {
              DesiredState on = log.state();
              Decision decided = decision.apply(on);
              DesiredChange change = decided.change();
              return committed(decided, change == null ? on : log.note(what, change));
            })
        .map(this::apply);
  }

  /** A controller is to follow; completes with its term. */
  Future<Long> nextTerm() {
    Function<DesiredState, Decision> next =
        on -> new Decision(on.nextTerm(on.head().keeps()), List.of());
    return queue.add(0, () -> note("the term", next)).map(noted -> term());
  }

  /** Copies of jars that nothing needs any more go, after the commands that wait. */
  public void removeUnusedJars() {
    if (!removing) {
      removing = true;
      queue.addAnyway(
          0,
          () -> {
            removing = false;
            Set<Path> running = controls.jarsInUse();
            return queue.offLoop(
                () -> {
                  jars.begin(running);
                  jars.removeUnused();
                  return null;
                });
          });
    }
  }
}

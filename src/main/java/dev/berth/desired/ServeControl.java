package dev.berth.desired;

import dev.berth.api.DeploymentId;
import dev.berth.code.BuildCache;
import dev.berth.code.Jar;
import dev.berth.code.StartFailedException;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ServeConfig;
import dev.berth.controller.AutoscaledReplicaCount;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.DesiredChange.Head;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.ControllerCommands;
import dev.berth.view.ServeDetails;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Executes the commands of operators, one at a time. Each command is computed on the {@link
 * DesiredState}, committed by the {@link StateLog} and read, all off the loop. Then the state is
 * replaced here, the controller receives the events, and the command returns its result. A command
 * that cannot be committed changes nothing. Confined to the control loop.
 */
public final class ServeControl implements BuildCache.BuildInputsLookup {
  /** Maximum of {@link #historyChars}; beyond it the oldest revisions are removed. */
  public static final long MAX_HISTORY_CHARS = RevisionHistory.MAX_CHARS;

  /** The dependencies on the controller and the instance. Confined to the control loop. */
  public interface ControllerOperations {
    /** Sends an event to the controller, in the order of the calls. */
    void tell(ControllerEvent event);

    /**
     * Returns the details of all applications.
     *
     * @param targetCapacity null when unset
     * @param stateDir null when the desired state is in memory only
     */
    Future<ServeDetails> details(@Nullable Double targetCapacity, @Nullable String stateDir);

    /**
     * Returns {@link ControllerCommands#autoscaling}; null for a deployment without autoscaling.
     */
    @Nullable Supplier<JsonObject> autoscaling(DeploymentId deployment);

    /**
     * Returns whether each deployment autoscales, by name: empty before the deployments are known,
     * null for an unknown application.
     */
    @Nullable Map<String, Boolean> deployments(String application);

    /**
     * Returns the copies of jars that code may be loaded from; null when unknown, so that all stay.
     */
    @Nullable Set<Path> jarsInUse();

    /** Restarts the controller under that term. */
    Future<Void> restart(long term);

    Future<Void> drain();
  }

  /**
   * The outcome of a command.
   *
   * @param change to commit and apply; null when nothing changes
   * @param events for the controller after the commit
   * @param read configurations of changed applications, if known
   * @param answer result for the caller
   */
  record CommandDecision(
      @Nullable DesiredChange change,
      List<ControllerEvent> events,
      Map<String, ApplicationConfig> read,
      @Nullable Long answer) {

    CommandDecision(@Nullable DesiredChange change, List<ControllerEvent> events) {
      this(change, events, Map.of(), null);
    }

    /** Returns the same decision with the result of a command that has an id. */
    CommandDecision answering(DesiredState on, String id, long nowMs, String command) {
      CommandResult known = new CommandResult(id, nowMs, command, answer);
      return new CommandDecision(on.answering(change, known), events, read, answer);
    }

    /** Returns the same decision, recorded as an operator's command if it changes anything. */
    CommandDecision chained(DesiredState on) {
      return change == null ? this : new CommandDecision(on.chained(change), events, read, answer);
    }
  }

  /** Decision without a change, also for a note that was not persisted. */
  static final CommandDecision NOTHING = new CommandDecision(null, List.of());

  /** Computes the change of a state. Runs off the loop; an exception refuses the command. */
  @FunctionalInterface
  interface StateCommand {
    CommandDecision on(DesiredState state) throws IOException;
  }

  private final LoopExecutor control;
  private final StateLog log;
  private final DeclaredJarStore jars;
  private final EntryReader reader;
  final CommandCommitter commits;
  private final InitialState first;
  private final CommandQueue queue;
  // node registrations do not wait for a command that copies jars
  private final CommandQueue nodesQueue;
  final RevisionOutcomeRecorder marks;
  private final OperatorCommands commands;
  private final Map<String, EntryReader.EntryReadResult> read =
      new HashMap<>(); // serving entries, by name
  private final Map<String, DeclaredApplication> refused = new LinkedHashMap<>(); // by name
  private final CoalescingWriter<DeploymentId, @Nullable AutoscaledReplicaCount> found;
  private @Nullable ControllerOperations controls; // null before the first controller
  DesiredState state = DesiredState.EMPTY; // applied state
  private boolean removing; // whether a removal of jars is queued

  /**
   * @param file configuration that the instance was started with
   * @param folder base of relative paths in submitted configurations
   * @param log not opened yet
   * @param offLoop may block; two threads are enough
   * @param control the control loop
   * @param nowMs milliseconds since 1970
   */
  public ServeControl(
      ServeConfig file,
      Path folder,
      StateLog log,
      Executor offLoop,
      LoopExecutor control,
      TimeOfDay nowMs) {
    this.control = control;
    this.log = log;
    this.jars = new DeclaredJarStore(log, nowMs, DeclaredJarStore.MAX_BYTES);
    this.reader = new EntryReader(jars, file);
    this.commits = new CommandCommitter(log, jars, reader, new AtomicBoolean(), new LongAdder());
    this.first = new InitialState(log, reader, nowMs);
    this.queue = new CommandQueue(offLoop, control);
    this.nodesQueue = new CommandQueue(offLoop, control);
    this.marks =
        new RevisionOutcomeRecorder(queue, decision -> note("revision outcomes", decision));
    this.found =
        new CoalescingWriter<>(
            queue,
            all ->
                note(
                    "autoscaled counts", on -> new CommandDecision(on.autoscaled(all), List.of())));
    this.commands = new OperatorCommands(this, folder, reader, nowMs, null);
  }

  /** Connects the controller, which reads the present applications at its own start. */
  public void connect(ControllerOperations to) {
    controls = to;
  }

  // --- start ---

  /**
   * Opens the log, and decides between its state and the file. Blocks; called once on any thread,
   * before all other methods.
   *
   * @param callers connecting nodes that had a controller before; called only for an empty log
   * @throws StartFailedException when the persisted state cannot be used
   */
  public void open(Supplier<List<FirstCaller>> callers) {
    first.begin(callers);
    state = log.state();
    read.putAll(first.read);
    refused.putAll(first.refused);
    marks.open(state);
  }

  /** Returns whether the first applications come from the file rather than the log. */
  public boolean fromFile() {
    return first.fromFile;
  }

  /**
   * Returns the declared applications, and those that a start could not declare, until a delete or
   * a deploy.
   */
  public List<DeclaredApplication> applications() {
    return Stream.concat(state.declared().stream(), refused.values().stream()).toList();
  }

  // --- calls of other parts of the instance ---

  @Override
  public BuildCache.@Nullable BuildInputs find(String application, long revision) {
    DesiredApplication wanted = state.find(application);
    long current = wanted != null ? wanted.revision() : refused.containsKey(application) ? 0 : -1;
    if (current != revision) {
      return null;
    }
    EntryReader.EntryReadResult entry =
        read.getOrDefault(application, EntryReader.EntryReadResult.NONE);
    if (entry.config() == null) {
      if (controls != null) {
        controls.tell(new ControllerEvent.BuildFailed(application, revision, entry.problem()));
      }
      return null;
    }
    Head head = state.head;
    ServeConfig around = reader.file().with(ServeConfig.TARGET_CAPACITY, head.targetCapacity());
    return new BuildCache.BuildInputs(entry.config(), around, head.rises());
  }

  /** Records a new state of an application, which decides about its rollback and its retries. */
  public void announced(Announce announce) {
    assert control.isHere();
    marks.announced(announce, state.find(announce.application()));
  }

  /**
   * Persists a number that autoscaling found, after the waiting commands. Only the last number of
   * each deployment is written. A crash leaves either this number or the previous one.
   *
   * @param now null for a deployment that was deleted or does not autoscale any longer
   */
  public void autoscaled(DeploymentId deployment, @Nullable AutoscaledReplicaCount now) {
    assert control.isHere();
    found.add(deployment, now);
  }

  /** Returns the commands of operators. */
  public ControllerCommands commands() {
    return commands;
  }

  /**
   * Changes the node registry without delay by waiting commands or those that copy jars.
   *
   * @param change computes the next {@link NodeRegistry}, off the loop
   * @return registry after the change; fails with {@link CommandRejectedException} when it is not
   *     persisted, or its outcome is unknown
   */
  public Future<NodeRegistry> nodes(UnaryOperator<NodeRegistry> change) {
    assert control.isHere();
    return nodesQueue.addAnyway(0, () -> nodesQueue.offLoop(() -> commits.nodes(change)));
  }

  /** Returns the applied node registry. Thread-safe. */
  public NodeRegistry nodes() {
    return log.state().nodes();
  }

  /** Returns the last committed state. Thread-safe. */
  public DesiredState logged() {
    return log.state();
  }

  /** Names an application's revision for people. */
  public static String name(String application, long revision) {
    return application + " (revision " + revision + ")";
  }

  /** Returns the jars of declared applications, for other nodes and deploys. */
  public JarProvider jars() {
    return new JarProvider(
        queue, jars, controls()::jarsInUse, () -> queue.addAnyway(0, this::caughtUp));
  }

  /** Returns the sources from which another node builds the code of an application. */
  public Future<BuildSource> source(ApplicationConfig config) {
    return jars().turn(() -> jars.source(config));
  }

  /** Returns needed jars whose copies are missing or damaged. Thread-safe. */
  public Set<Jar> lostJars() {
    return jars.lostJars();
  }

  /** Reads unreadable applications again, and declares those that can be built now. */
  public Future<Void> readAgain() {
    return queue.addAnyway(
        0,
        () -> {
          Map<String, EntryReader.EntryReadResult> known = new HashMap<>(read);
          known.values().removeIf(each -> each.config() == null);
          DesiredState on = state;
          return queue
              .offLoop(() -> reader.readAnew(on.applications(), Map.of(), known))
              .map(
                  anew -> {
                    anew.values().removeIf(each -> each.config() == null);
                    read.putAll(anew);
                    on.declared().stream()
                        .filter(each -> anew.containsKey(each.name()))
                        .forEach(each -> controls().tell(new ControllerEvent.Declared(each)));
                    return null;
                  });
        });
  }

  /** Returns the number of waiting commands. Thread-safe. */
  public int waitingCommands() {
    return queue.size;
  }

  /** Returns the number of changes that could not be stored. Thread-safe. */
  public long notStored() {
    return commits.notStored().sum();
  }

  /** Returns the characters of the entries of earlier revisions. Thread-safe. */
  public long historyChars() {
    return log.state().history.chars;
  }

  /**
   * Refuses further commands of operators; node registrations continue.
   *
   * @param why reason for operators
   */
  public void refuse(String why) {
    queue.refuse(why);
  }

  /** Closes the directory after the running command; later commands are refused. */
  public Future<Void> close() {
    return Future.all(queue.close(), nodesQueue.close())
        .compose(
            idle ->
                queue.offLoop(
                    () -> {
                      log.close();
                      jars.close();
                      return null;
                    }));
  }

  // --- calls of commands ---

  /** Returns the weights set on endpoints, by route. Thread-safe. */
  public Map<String, Map<String, Double>> endpointSplits() {
    return state.head.splits();
  }

  /** Returns the connected controller. */
  ControllerOperations controls() {
    return Objects.requireNonNull(controls, "controller: null (expected: connected)");
  }

  /** Returns the applications that a start could not declare; a running command may call it. */
  Set<String> refusedApplications() {
    return refused.keySet();
  }

  /** Returns the directory of the desired state; null when it is in memory only. */
  @Nullable String directory() {
    Path directory = log.directory();
    return directory == null ? null : directory.toString();
  }

  // --- execution of commands ---

  /**
   * Executes a command; completes on the loop after all events were sent.
   *
   * @param length characters submitted with it
   * @param command created on the loop when it starts
   */
  Future<@Nullable Long> carryOut(int length, Supplier<StateCommand> command) {
    return queue.add(length, () -> begin(command.get()));
  }

  private Future<@Nullable Long> begin(StateCommand command) {
    Set<Path> running = controls().jarsInUse(); // builds started meanwhile use declared jars
    return queue
        .offLoop(() -> commits.carryOut(command, running, read))
        .map(this::apply)
        .recover(refused -> caughtUp().transform(known -> Future.failedFuture(refused)));
  }

  private @Nullable Long apply(CommandCommitter.CommittedCommand done) {
    DesiredChange change = done.decision().change();
    List<ControllerEvent> missed = StateDiff.between(state, done.on());
    read.putAll(done.read());
    boolean frees = change != null && DeclaredJarStore.frees(change, state, done.state());
    state = done.state();
    if (frees || !missed.isEmpty()) {
      removeUnusedJars();
    }
    missed.forEach(this::tell);
    done.decision().events().forEach(this::tell);
    if (change != null) {
      marks.again();
      found.again();
    }
    return done.decision().answer();
  }

  private void tell(ControllerEvent event) {
    if (event instanceof ControllerEvent.Withdrawn gone) {
      refused.remove(gone.application());
      if (state.find(gone.application()) == null) {
        read.remove(gone.application());
        marks.forget(gone.application());
      }
    } else if (event instanceof ControllerEvent.Declared there) {
      refused.remove(there.application().name());
    }
    controls().tell(event);
  }

  /** Queues a note of the instance itself, whose loss does no harm. */
  private Future<Boolean> note(String what, Function<DesiredState, CommandDecision> decision) {
    return queue
        .offLoop(() -> commits.note(what, decision, read))
        .map(
            done -> {
              apply(done);
              return done.decision() != NOTHING;
            });
  }

  /** Applies changes that were committed meanwhile. */
  private Future<?> caughtUp() {
    return note("nothing", on -> NOTHING);
  }

  /** Starts the next term for a new controller; fails when the term is not persisted. */
  Future<Long> nextTerm() {
    Function<DesiredState, CommandDecision> next =
        on -> new CommandDecision(on.nextTerm(on.head.keeps(), 0), List.of());
    return queue
        .add(0, () -> note("controller term", next))
        .map(
            kept -> {
              if (!kept) {
                throw CommandRejectedException.unavailable(
                    "the controller term cannot be stored (expected: a writable log)");
              }
              return log.state().term();
            });
  }

  /** Removes copies of jars that are not needed any longer, after the waiting commands. */
  public void removeUnusedJars() {
    if (!removing) {
      removing = true;
      queue.turn(
          () -> {
            removing = false;
            return controls().jarsInUse();
          },
          jars::begin,
          jars::makeRoom);
    }
  }
}

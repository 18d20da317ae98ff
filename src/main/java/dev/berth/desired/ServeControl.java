package dev.berth.desired;

import dev.berth.api.DeploymentId;
import dev.berth.code.Builds;
import dev.berth.code.Jar;
import dev.berth.code.StartFailedException;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ServeConfig;
import dev.berth.controller.Autoscaled;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.DesiredChange.Head;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.port.Loop;
import dev.berth.view.CommandRefused;
import dev.berth.view.CommandRefused.Kind;
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
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Carries out what operators ask of the controller, one command after the other: each is computed
 * on the {@link DesiredState}, committed by the {@link StateLog} and read, all off the loop; then
 * the state is replaced here, the controller is told, and the command answered. What cannot be
 * committed changes nothing. Belongs to the control loop.
 */
public final class ServeControl implements Builds.Sources {
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
    @Nullable Supplier<JsonObject> autoscaling(DeploymentId deployment);

    /**
     * Returns the names of the deployments, and whether their number of replicas follows the load;
     * empty before they are known; null for an unknown application.
     */
    @Nullable Map<String, Boolean> deployments(String application);

    /** Copies of jars that code may be loaded from; null when that is not known: none goes. */
    @Nullable Set<Path> jarsInUse();

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

    /** The same, remembered as a command of an operator if it changes anything. */
    Decision chained(DesiredState on) {
      return change == null ? this : new Decision(on.chained(change), events, read, answer);
    }
  }

  /** Of one that has nothing to say, or what it said was not kept. */
  static final Decision NOTHING = new Decision(null, List.of());

  /** Computes what is to change of a state. Off the loop; a failure refuses the command. */
  @FunctionalInterface
  interface Command {
    Decision on(DesiredState state) throws IOException;
  }

  private final Loop control;
  private final StateLog log;
  private final KeptJars jars;
  private final EntryReader reader;
  private final Commits commits;
  private final FirstState first;
  private final CommandQueue queue;
  private final CommandQueue nodesQueue; // a command may copy jars meanwhile
  private final RevisionMarks marks;
  private final OperatorCommands commands;
  private final Map<String, EntryReader.Reading> read = new HashMap<>(); // what runs, by name
  private final Map<String, DeclaredApplication> refused = new LinkedHashMap<>(); // by name
  private final LatestNotes<DeploymentId, @Nullable Autoscaled> found;
  private @Nullable Controls controls; // once there is a controller
  private DesiredState state = DesiredState.EMPTY; // that is applied
  private boolean removing; // of jars, is queued

  /**
   * @param file what the instance was started with
   * @param folder that relative paths of what is submitted start from
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
      Loop control,
      TimeOfDay nowMs) {
    this.control = control;
    this.log = log;
    this.jars = new KeptJars(log, nowMs, KeptJars.MAX_BYTES);
    this.reader = new EntryReader(jars, file);
    this.commits = new Commits(log, jars, reader, new AtomicBoolean());
    this.first = new FirstState(file, log, jars, reader, nowMs);
    this.queue = new CommandQueue(offLoop, control);
    this.nodesQueue = new CommandQueue(offLoop, control);
    this.marks = new RevisionMarks(queue, decision -> note("what ran or failed", decision));
    this.found =
        new LatestNotes<>(
            queue,
            all ->
                note("what autoscaling found", on -> new Decision(on.autoscaled(all), List.of())));
    this.commands = new OperatorCommands(this, folder, reader, nowMs, null);
  }

  /** Sets the controller that commands reach: what is open by then it learns at its start. */
  public void connect(Controls to) {
    controls = to;
  }

  // --- start ---

  /**
   * Reads what is kept, and decides between that and the file. Blocks; once, on any thread, before
   * everything else.
   *
   * @param callers nodes that call and were commanded before; asked where nothing is kept
   * @throws StartFailedException when what is kept cannot be used
   */
  public void open(Supplier<List<FirstCaller>> callers) {
    first.begin(callers);
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
      if (controls != null) {
        controls.tell(new ControllerEvent.BuildFailed(application, revision, entry.problem()));
      }
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

  /**
   * Others belong to the cluster; commands that wait, or copy jars, do not delay it.
   *
   * @param change of who does when its turn comes, as {@link NodeRegistry} computes it; off the
   *     loop
   * @return who does from then on; fails with {@link CommandRefused} when that is not kept, or not
   *     known to be
   */
  public Future<NodeRegistry> nodes(UnaryOperator<NodeRegistry> change) {
    assert control.isHere();
    return nodesQueue.addAnyway(0, () -> nodesQueue.offLoop(() -> commits.nodes(change)));
  }

  /** Who belongs to the cluster, as far as is applied. Any thread. */
  public NodeRegistry nodes() {
    return log.state().nodes();
  }

  /** The last state that is kept. Any thread. */
  public DesiredState logged() {
    return log.state();
  }

  /** Names an application's revision for people. */
  public static String name(String application, long revision) {
    return application + " (revision " + revision + ")";
  }

  /** The jars of what is declared, for others. */
  public SharedJars jars() {
    return new SharedJars(
        queue, jars, controls()::jarsInUse, () -> queue.addAnyway(0, this::caughtUp));
  }

  /** What another node needs to build the code of an application. */
  public Future<BuildSource> source(ApplicationConfig config) {
    return jars().turn(() -> jars.source(config));
  }

  /** Jars of declared applications whose copies are missing or damaged. Any thread. */
  public Set<Jar> lostJars() {
    return jars.lost();
  }

  /** Reads applications again that could not be read, and has those built that can be now. */
  public Future<Void> readAgain() {
    return queue.addAnyway(
        0,
        () -> {
          Map<String, EntryReader.Reading> known = new HashMap<>(read);
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

  /** Commands that wait for those before them. Any thread. */
  public int waitingCommands() {
    return queue.size();
  }

  /** Characters of the entries of what ran earlier. Any thread. */
  public long historyChars() {
    return log.state().history().chars();
  }

  /**
   * Commands of operators are refused; who is a node is committed as before.
   *
   * @param why for operators
   */
  public void refuse(String why) {
    queue.refuse(why);
  }

  /** Gives the directory back when the command under way has ended; later ones are refused. */
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

  // --- what commands ask ---

  /** The weights that endpoints were given, by route. Any thread. */
  public Map<String, Map<String, Double>> endpointSplits() {
    return state.head().splits();
  }

  /** The controller that is connected. */
  Controls controls() {
    return Objects.requireNonNull(controls, "controller: null (expected: a connected one)");
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
    commits.prepare();
  }

  // --- how a command is carried out ---

  /**
   * Completes on the loop, when everybody concerned was told.
   *
   * @param length characters of what is submitted with it
   * @param command made on the loop when its turn comes
   */
  Future<@Nullable Long> carryOut(int length, Supplier<Command> command) {
    return queue.add(length, () -> begin(command.get()));
  }

  private Future<@Nullable Long> begin(Command command) {
    Set<Path> running = controls().jarsInUse(); // what is built meanwhile is declared
    return queue
        .offLoop(() -> commits.carryOut(command, running, read))
        .map(this::apply)
        .recover(refused -> caughtUp().transform(known -> Future.failedFuture(refused)));
  }

  private @Nullable Long apply(Commits.Committed done) {
    DesiredChange change = done.decision().change();
    List<ControllerEvent> missed = Missed.between(state, done.on());
    read.putAll(done.read());
    boolean frees = change != null && KeptJars.frees(change, state, done.state());
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
        forget(gone.application());
      }
    } else if (event instanceof ControllerEvent.Declared there) {
      refused.remove(there.application().name());
    }
    controls().tell(event);
  }

  private void forget(String application) {
    read.remove(application);
    marks.forget(application);
  }

  /** The turn of the instance itself has come, to say something whose loss does no harm. */
  private Future<Boolean> note(String what, Function<DesiredState, Decision> decision) {
    return queue
        .offLoop(() -> commits.note(what, decision, read))
        .map(
            done -> {
              apply(done);
              return done.decision() != NOTHING;
            });
  }

  /** What has come true meanwhile is applied. */
  private Future<?> caughtUp() {
    return note("nothing", on -> NOTHING);
  }

  /** A controller is to follow; completes with its term, and fails when that is not kept. */
  Future<Long> nextTerm() {
    Function<DesiredState, Decision> next =
        on -> new Decision(on.nextTerm(on.head().keeps(), 0), List.of());
    return queue
        .add(0, () -> note("the term", next))
        .map(
            kept -> {
              if (!kept) {
                throw new CommandRefused(
                    Kind.UNAVAILABLE,
                    "the term cannot be kept (expected: a log that can be written)");
              }
              return log.state().term();
            });
  }

  /** Copies of jars that nothing needs any more go, after the commands that wait. */
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

package dev.berth.desired;

import dev.berth.code.Builds;
import dev.berth.code.StartFailedException;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.Problem;
import dev.berth.config.ServeConfig;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.ServeControlFindings.Outcome;
import dev.berth.protocol.ServeDetails;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.CommandRefused.Kind;
import dev.berth.protocol.port.ControllerCommands;
import io.vertx.core.Future;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

    /** Copies of jars that code may be loaded from; null when that is not known: none goes. */
    default @Nullable Set<Path> jarsInUse() {
      return null;
    }

    /** Starts the controller anew under that term. */
    Future<Void> restart(long term);

    Future<Void> drain();
  }

  private final ServeConfig file;
  private final ServeControlFindings findings;
  private final ServeControlStore store;
  private final ServeControlQueue queue;
  private final ServeControlMarks marks;
  private final LongSupplier nowMs;
  private final Controls controls;
  private final DesiredState state = new DesiredState();
  private final Map<String, ApplicationConfig> read = new HashMap<>(); // what is wanted, by name
  private final Map<String, String> unreadable = new HashMap<>(); // why, by name
  private boolean fromFile;
  private boolean removing; // of jars, is queued

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
    this.findings = new ServeControlFindings(file, folder, store, state, nowMs);
    this.store = store;
    this.queue = new ServeControlQueue(offLoop, control);
    this.marks = new ServeControlMarks(file, store, state, queue, controls::tell);
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
    ServeControlStart start = new ServeControlStart(file, store, state, nowMs);
    start.begin();
    read.putAll(start.read());
    unreadable.putAll(start.unreadable());
    marks.open();
    fromFile = start.fromFile();
  }

  /** Whether what runs at first is what the file says, and not what was kept. */
  public boolean fromFile() {
    return fromFile;
  }

  /** What is declared. */
  public List<DeclaredApplication> applications() {
    return state.declared();
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
    boolean refused = wanted == null && state.isRefused(application) && revision == 0;
    if (!refused && (wanted == null || wanted.revision() != revision)) {
      return null;
    }
    boolean failed = wanted != null && wanted.failed() != null;
    ApplicationConfig config = failed ? marks.read(application) : read.get(application);
    if (config == null) {
      String why =
          failed
              ? marks.unreadable(application)
              : unreadable.getOrDefault(application, "unknown (expected: known)");
      controls.tell(new ControllerEvent.BuildFailed(application, revision, why));
      return null;
    }
    return new Builds.Source(config, file.withTargetCapacity(state.targetCapacity()));
  }

  /** An application is in a new state: whether it can be had back later, or is not tried again. */
  public void announced(Announce announce) {
    marks.announced(announce);
  }

  /** Gives the directory back when the command under way has ended; later ones are refused. */
  public Future<Void> close() {
    return queue.close(store::close);
  }

  // --- commands ---

  @Override
  public Future<Void> deploy(@Nullable String application, String config, @Nullable String file) {
    return command(config.length(), () -> findings.deploy(application, config, file));
  }

  @Override
  public Future<Void> deleteAll() {
    return command(0, findings::deleteAll);
  }

  @Override
  public Future<Void> delete(String application) {
    return command(0, () -> findings.delete(application));
  }

  @Override
  public Future<Void> scale(String application, String deployment, int replicas) {
    return queue.add(
        0,
        () -> {
          Set<String> known = controls.deployments(application);
          return work(() -> findings.scale(application, deployment, replicas, known));
        });
  }

  @Override
  public Future<Long> rollback(String application) {
    return command(0, () -> findings.rollback(application));
  }

  @Override
  public Future<ServeDetails> details() {
    Path directory = store.directory();
    try {
      return controls.details(
          state.targetCapacity(), directory == null ? null : directory.toString());
    } catch (CommandRefused noController) {
      return Future.failedFuture(noController);
    }
  }

  @Override
  public Future<Void> restartController() {
    Future<Void> kept =
        queue.add(
            0,
            () ->
                () -> {
                  DesiredChange change = state.nextTerm();
                  try {
                    if (store.isUsed()) {
                      store.append(change, state);
                    }
                  } catch (IOException failed) { // no harm while there is one instance
                    LOG.warn("state: the term is not kept: {}", failed.toString());
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

  /** Commands that wait for those before them. Any thread. */
  public int waitingCommands() {
    return queue.size();
  }

  /** Finds out what changes and makes it durable; what is given back applies it, on the loop. */
  private <T> ServeControlQueue.Work<T> work(Finding<T> finding) {
    Set<Path> running = controls.jarsInUse(); // what is built meanwhile is declared
    return () -> {
      Outcome<T> outcome;
      store.begin(state, running);
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

  /** Copies of jars that nothing needs any more go, after the commands that wait. Control loop. */
  public void removeUnusedJars() {
    if (!removing) {
      removing = true;
      queue.addInternal(
          () -> {
            removing = false;
            Set<Path> running = controls.jarsInUse();
            return () -> {
              store.begin(state, running);
              store.removeUnused();
              return done -> {};
            };
          });
    }
  }

  private void apply(Outcome<?> outcome) {
    DesiredChange change = outcome.change();
    if (change != null) {
      boolean frees = ServeControlStore.frees(change, state);
      state.apply(change);
      if (frees) {
        removeUnusedJars();
      }
      change.removed().forEach(read::remove);
      change.removed().forEach(unreadable::remove);
      change.removed().forEach(marks::forget);
    }
    read.putAll(outcome.read());
    unreadable.keySet().removeAll(outcome.read().keySet());
    outcome.events().forEach(controls::tell);
  }
}

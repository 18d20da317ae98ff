package dev.berth.code;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.controller.BuiltApplication;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.BuildFailed;
import dev.berth.controller.ControllerEvent.Built;
import dev.berth.protocol.UserFailure;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.replica.hooks.HookThreads;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The loaded code of this instance's applications, by build. A build is read on a separate thread
 * when the controller requests it. Revisions that differ only in settings share it. The build is
 * closed when no replica uses it. Several builds of one application can coexist, each with its own
 * class loader. Confined to the control loop.
 */
public final class BuildCache {
  private static final Logger LOG = LoggerFactory.getLogger(BuildCache.class);

  /**
   * Inputs of a build.
   *
   * @param config of the application
   * @param file that contains {@code config}
   * @param rises whether the file's target capacity was lower before
   */
  public record BuildInputs(ApplicationConfig config, ServeConfig file, boolean rises) {
    public BuildInputs(ApplicationConfig config, ServeConfig file) {
      this(config, file, false);
    }
  }

  /**
   * Look-up of declared revisions. Returns null for a revision that is no longer desired. Confined
   * to the control loop.
   */
  @FunctionalInterface
  public interface BuildInputsLookup {
    @Nullable BuildInputs find(String application, long revision);

    /**
     * Returns the source of a build of another instance, which is required here; fails when there
     * is no such build.
     */
    default Future<BuildInputs> elsewhere(String application, String build) {
      return Future.failedFuture(
          new StartFailedException("build: " + build + " (expected: a known build)"));
    }
  }

  /** Code, with the settings of one revision. */
  public record LoadedRevision(LoadedApplication code, BuiltApplication built) {}

  /**
   * Code that is being read.
   *
   * @param config of its application
   */
  public record PendingLoad(ApplicationConfig config, Future<LoadedRevision> read) {}

  private static final class CachedBuild {
    final LoadedApplication code;
    int users; // replicas that may run it, and pending builds that may reuse it
    boolean discarded;
    int telling; // Built events that the controller has not yet processed

    CachedBuild(LoadedApplication code) {
      this.code = code;
    }
  }

  private final HookThreads threads;
  private final LoopExecutor control;
  private final BuildInputsLookup sources;
  private final Consumer<ControllerEvent> controller;
  private final Consumer<LoadedApplication> onClosed;
  private final Map<String, CachedBuild> held = new LinkedHashMap<>(); // by name
  private final Map<String, Build> last = new HashMap<>(); // requested, by application
  private final Map<String, PendingLoad> early =
      new HashMap<>(); // not yet requested, by application
  private final List<PendingLoad> reading = new ArrayList<>(); // requested
  private final Map<String, Promise<CachedBuild>> obtaining = new HashMap<>(); // by name
  private boolean closed;
  private Consumer<LoadedApplication> onIdle = code -> {};
  private BuiltInHandlers builtIn = BuiltInHandlers.NONE;

  /**
   * Creates an empty cache.
   *
   * @param threads run user code
   * @param control the control loop
   * @param controller receives the results of builds
   * @param gone receives code that is no longer used
   */
  public BuildCache(
      HookThreads threads,
      LoopExecutor control,
      BuildInputsLookup sources,
      Consumer<ControllerEvent> controller,
      Consumer<LoadedApplication> gone) {
    this.threads = threads;
    this.control = control;
    this.sources = sources;
    this.controller = controller;
    this.onClosed = gone;
  }

  /** Sets the handlers of the built-in application; without them it cannot be built. */
  public void serve(BuiltInHandlers handlers) {
    builtIn = handlers;
  }

  /**
   * Registers code whose reading has started, which serves as the next build of its application.
   */
  public void readEarly(PendingLoad begun) {
    assert control.isHere();
    early.put(begun.config().name(), begun);
  }

  // --- build ---

  public void build(Build command) {
    assert control.isHere();
    List<CachedBuild> known =
        held.values().stream()
            .filter(each -> each.code.name().equals(command.application()))
            .toList();
    PendingLoad begun = early.remove(command.application());
    PendingLoad reads = begun == null ? read(command, known) : begun;
    if (reads == null) {
      return; // another revision is desired; its build follows
    }
    last.put(command.application(), command);
    known.forEach(each -> each.users++); // keeps all open, as each may match
    reading.add(reads);
    reads
        .read()
        .onComplete(
            (read, thrown) ->
                control.execute(
                    () -> {
                      reading.remove(reads);
                      if (thrown != null) {
                        onLoadFailed(command, thrown);
                      } else if (isLast(command) && (begun != null || isWanted(command))) {
                        onLoaded(command, read);
                      } else if (known.stream().noneMatch(each -> each.code == read.code)) {
                        read.code.close();
                      }
                      known.forEach(this::releaseUse);
                    }));
  }

  private boolean isWanted(Build command) {
    return sources.find(command.application(), command.revision()) != null;
  }

  private @Nullable PendingLoad read(Build command, List<CachedBuild> known) {
    BuildInputs source = sources.find(command.application(), command.revision());
    if (source == null) {
      return null;
    }
    String lost = threads.blockedReason(source.config().name());
    return lost.isEmpty()
        ? read(
            threads,
            source,
            known.stream().collect(Collectors.toMap(each -> each.code.build(), each -> each.code)),
            builtIn)
        : new PendingLoad(source.config(), Future.failedFuture(new StartFailedException(lost)));
  }

  /**
   * Starts to read code before the controller requests it; pass the result to {@link #readEarly}.
   * Thread-safe.
   */
  public static PendingLoad read(HookThreads threads, BuildInputs source, BuiltInHandlers builtIn) {
    return read(threads, source, Map.of(), builtIn);
  }

  private static PendingLoad read(
      HookThreads threads,
      BuildInputs source,
      Map<String, LoadedApplication> known,
      BuiltInHandlers builtIn) {
    Promise<LoadedRevision> read = Promise.promise();
    try {
      threads.run(
          source.config().name(),
          HookThreads.HookKind.BUILD,
          () -> {
            try {
              read.complete(ApplicationLoader.read(source, known, builtIn));
            } catch (Throwable thrown) { // user code
              read.fail(thrown);
            }
          });
    } catch (RejectedExecutionException stopping) {
      read.fail(stopping);
    }
    return new PendingLoad(source.config(), read.future());
  }

  /**
   * Returns whether no later command supersedes this one: a command for the same revision with
   * other settings of the whole file.
   */
  private boolean isLast(Build command) {
    if (last.get(command.application()) != command) { // by identity: a later command may be equal
      return false;
    }
    last.remove(command.application());
    return true;
  }

  private void onLoaded(Build command, LoadedRevision read) {
    LoadedApplication code = read.code;
    if (closed) {
      code.close();
      return;
    }
    CachedBuild known =
        held.computeIfAbsent(name(code.name(), code.build()), name -> new CachedBuild(code));
    known.discarded = false; // desired again
    if (known.code != code) {
      code.close(); // read twice concurrently
    }
    known.telling++;
    controller.accept(new Built(command.application(), command.revision(), read.built));
    control.execute(() -> known.telling--); // runs after the event
  }

  private void onLoadFailed(Build command, Throwable failed) {
    if (!isLast(command)) {
      return;
    }
    String reason;
    if (failed instanceof ConfigException refused) {
      reason =
          refused.problems().stream()
              .map(ConfigProblem::toString)
              .collect(Collectors.joining("; "));
    } else if (failed instanceof StartFailedException) {
      reason = String.valueOf(failed.getMessage());
    } else {
      LOG.error("application {}: not readable", command.application(), UserFailure.legible(failed));
      reason = StartFailedException.describe(failed);
    }
    controller.accept(new BuildFailed(command.application(), command.revision(), reason));
  }

  // --- use ---

  /** Sets the listener of builds without a replica here, which may get one again. */
  public void onIdle(Consumer<LoadedApplication> listener) {
    onIdle = listener;
  }

  public void discard(DiscardBuild command) {
    assert control.isHere();
    CachedBuild found = held.get(name(command.application(), command.build()));
    if (found != null) {
      found.discarded = true;
      closeIfUnused(found);
    }
  }

  /**
   * Discards code of earlier controllers that the current controller does not know at the end of
   * its recovery, and would therefore never discard. Code with replicas is closed with its last
   * replica.
   *
   * @param known builds by application, including those that run only on other instances
   */
  public void keepOnly(Map<String, Set<String>> known) {
    assert control.isHere();
    for (CachedBuild each : List.copyOf(held.values())) {
      Set<String> kept = known.getOrDefault(each.code.name(), Set.of());
      if (each.telling == 0 && !kept.contains(each.code.build())) {
        each.discarded = true; // until a new build reuses it
        closeIfUnused(each);
      }
    }
  }

  /**
   * Returns the code of a build for one more replica, which must {@link #release} it.
   *
   * @return null when there is no such build
   */
  public @Nullable LoadedApplication acquire(String application, String build) {
    assert control.isHere();
    CachedBuild found = held.get(name(application, build));
    if (found == null) {
      return null;
    }
    found.users++;
    return found.code;
  }

  /**
   * Returns the code of a build that a controller on another node knows, for one more replica,
   * which must {@link #release} it. The code is closed with its last replica. Concurrent calls
   * share one read.
   *
   * @return completes on the control loop; fails when the code is not available, or when this
   *     instance produces a different build from it
   */
  public Future<LoadedApplication> obtain(String application, String build) {
    assert control.isHere();
    String name = name(application, build);
    boolean reads = obtaining.containsKey(name);
    Promise<CachedBuild> here = obtaining.computeIfAbsent(name, none -> Promise.promise());
    Future<LoadedApplication> taken =
        here.future()
            .map(
                known -> {
                  known.users++;
                  return known.code;
                });
    if (!reads) {
      sources
          .elsewhere(application, build)
          .compose(source -> read(threads, source, builtIn).read())
          .onComplete(
              (got, failed) -> control.run(() -> onObtained(name, build, got, failed, here)));
    }
    return taken;
  }

  private void onObtained(
      String name,
      String build,
      @Nullable LoadedRevision got,
      @Nullable Throwable failed,
      Promise<CachedBuild> here) {
    obtaining.remove(name);
    if (got == null) {
      here.fail(failed);
      return;
    }
    LoadedApplication code = got.code;
    if (closed || !code.build().equals(build)) {
      code.close();
      here.fail(
          new StartFailedException(
              "build: %s (expected: %s, which the controller built)"
                  .formatted(closed ? "none, instance is stopping" : code.build(), build)));
      return;
    }
    CachedBuild known = held.computeIfAbsent(name, none -> new CachedBuild(code));
    if (known.code != code) {
      code.close();
    }
    // No command discards a build of another instance: its last user closes it.
    known.discarded = true;
    known.users++; // holds it open for the waiting callers
    here.complete(known);
    releaseUse(known);
  }

  /** Releases code after a replica has completely stopped. Thread-safe. */
  public void release(LoadedApplication code) {
    control.execute(
        () -> {
          CachedBuild found = held.get(name(code.name(), code.build()));
          if (found != null && found.code == code) {
            releaseUse(found);
          }
        });
  }

  private void releaseUse(CachedBuild used) {
    used.users--;
    if (used.users <= 0) {
      onIdle.accept(used.code);
    }
    closeIfUnused(used);
  }

  private void closeIfUnused(CachedBuild unused) {
    LoadedApplication code = unused.code;
    if (unused.discarded
        && unused.users <= 0
        && held.remove(name(code.name(), code.build()), unused)) {
      onClosed.accept(code);
      code.close();
    }
  }

  private static String name(String application, String build) {
    return application + "/" + build;
  }

  /** Returns the jars that classes are loaded from, or may soon be. */
  public Set<Path> jarsInUse() {
    assert control.isHere();
    Set<Path> jars = new HashSet<>();
    early.values().forEach(each -> jars.addAll(each.config().jars()));
    reading.forEach(each -> jars.addAll(each.config().jars()));
    held.values().forEach(each -> jars.addAll(each.code.config().jars()));
    return jars;
  }

  /** Returns the configuration of a build; null when there is no such build. */
  public @Nullable ApplicationConfig config(String application, String build) {
    assert control.isHere();
    CachedBuild found = held.get(name(application, build));
    return found == null ? null : found.code.config();
  }

  /** Returns the names of the loaded builds, {@code application/build}. */
  public List<String> names() {
    return List.copyOf(held.keySet());
  }

  /** Closes the jars of all builds, and those of pending reads when they complete. */
  public void closeAll() {
    assert control.isHere();
    closed = true;
    held.values().forEach(each -> each.code.close());
    held.clear();
    closeEarly();
  }

  /** Closes code that was read early and never requested, once a controller has started. */
  public void closeEarly() {
    assert control.isHere();
    early.values().forEach(each -> each.read().onSuccess(read -> read.code.close()));
    early.clear();
  }
}

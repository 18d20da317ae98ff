package dev.berth.node;

import dev.berth.code.BuildCache;
import dev.berth.code.BuiltInHandlers;
import dev.berth.code.StartFailedException;
import dev.berth.config.ConfigException;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.FirstCaller;
import dev.berth.desired.ServeControl;
import dev.berth.protocol.UserFailure;
import dev.berth.replica.hooks.HookThreads;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Applications that an instance starts with, from its file or from its stored state. Their code is
 * read while the event loops start, since neither needs the other. An unusable application of the
 * file fails the start. A worker starts with none. Created on any thread, then confined to the
 * control loop.
 */
final class InitialApplications {
  private static final Logger LOG = LoggerFactory.getLogger(InitialApplications.class);

  private final Future<Void> opened;
  private final List<BuildCache.PendingLoad> loads = new ArrayList<>();
  List<String> awaited = List.of(); // names from the file; set before opened completes

  /** Creates the empty set of a worker. */
  InitialApplications() {
    opened = Future.succeededFuture();
  }

  /**
   * Opens the desired state, then reads the code of its applications.
   *
   * @param commands executor that may block and runs no user code
   * @param builtIn handlers of the built-in application
   * @param callers nodes that connect and had a controller before; blocks
   */
  InitialApplications(
      ServeControl serve,
      Executor commands,
      HookThreads threads,
      BuiltInHandlers builtIn,
      Supplier<List<FirstCaller>> callers) {
    Promise<Void> promise = Promise.promise();
    opened = promise.future();
    commands.execute(
        () -> {
          try {
            serve.open(callers);
            List<DeclaredApplication> all = serve.applications();
            if (serve.fromFile()) {
              awaited = all.stream().map(DeclaredApplication::name).toList();
            }
            all.stream()
                .map(each -> serve.find(each.name(), each.revision()))
                .filter(Objects::nonNull) // null if unreadable; the build reports the cause
                .forEach(source -> loads.add(BuildCache.read(threads, source, builtIn)));
            promise.complete();
          } catch (Throwable thrown) { // any error must end the wait of the start
            promise.tryFail(thrown);
          }
        });
  }

  /** Returns a future that completes when each application is read or unreadable; never fails. */
  Future<Void> read() {
    return opened
        .<Void>compose(
            open ->
                Future.join(loads.stream().map(BuildCache.PendingLoad::read).toList()).mapEmpty())
        .otherwiseEmpty();
  }

  /** Returns why the instance cannot start, once all are read; null if the instance can start. */
  @Nullable Throwable problem() {
    if (opened.failed()) {
      return opened.cause();
    }
    if (awaited.isEmpty()) {
      return null; // stored applications ran before; their status shows a failure
    }
    List<ConfigProblem> problems = new ArrayList<>();
    Throwable first = null;
    for (BuildCache.PendingLoad load : loads) {
      Throwable cause = load.read().cause();
      if (cause instanceof ConfigException refused) {
        problems.addAll(refused.problems());
      } else if (cause != null && first == null) {
        String name = load.config().name();
        first = cause instanceof StartFailedException ? cause : unexpected(name, cause);
      }
    }
    return problems.isEmpty() ? first : new ConfigException(problems); // from all applications
  }

  private static StartFailedException unexpected(String application, Throwable cause) {
    LOG.error("application {}: not readable", application, UserFailure.legible(cause));
    return new StartFailedException(
        "application " + application + ": " + StartFailedException.describe(cause));
  }

  /** Passes the code to {@code builds}, which uses it for the first build of each application. */
  void handTo(BuildCache builds) {
    loads.forEach(builds::readEarly);
    loads.clear();
  }

  /** Releases the jars of code that was read but not passed on. */
  void close() {
    loads.forEach(load -> load.read().onSuccess(read -> read.code().close()));
  }
}

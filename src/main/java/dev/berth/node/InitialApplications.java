package dev.berth.node;

import dev.berth.code.Builds;
import dev.berth.code.StartFailedException;
import dev.berth.config.ConfigException;
import dev.berth.config.keys.Problem;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.FirstCaller;
import dev.berth.desired.ServeControl;
import dev.berth.protocol.UserFailure;
import dev.berth.replica.hooks.HookThreads;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The applications that an instance starts with, of its file or of what was kept: their code is
 * read while its event loops are made, for neither needs the other. Of a file's applications none
 * may be unfit. Made on any thread, then the control loop's.
 */
final class InitialApplications {
  private static final Logger LOG = LoggerFactory.getLogger(InitialApplications.class);

  private final ServeControl serve;
  private final HookThreads threads;
  private final Future<Void> opened;
  private final List<Builds.Reading> loads = new ArrayList<>();

  /**
   * Finds out what is declared, and starts to read it.
   *
   * @param commands may block, and runs no user code
   * @param callers nodes that call and were commanded before; blocks
   */
  InitialApplications(
      ServeControl serve,
      Executor commands,
      HookThreads threads,
      Supplier<List<FirstCaller>> callers) {
    this.serve = serve;
    this.threads = threads;
    Promise<Void> promise = Promise.promise();
    opened = promise.future();
    commands.execute(
        () -> {
          try {
            serve.open(callers);
            serve.applications().forEach(this::load);
            promise.complete();
          } catch (Throwable thrown) { // whatever it is, the start must not wait for ever
            promise.tryFail(thrown);
          }
        });
  }

  private void load(DeclaredApplication application) {
    Builds.Source source = serve.find(application.name(), application.revision());
    if (source != null) { // else it cannot be read: who builds it finds out why
      loads.add(Builds.read(threads, source));
    }
  }

  /** Completes when each of them is read, or failed to be; it does not fail. */
  Future<Void> read() {
    return opened
        .<Void>compose(
            open -> Future.join(loads.stream().map(Builds.Reading::read).toList()).mapEmpty())
        .otherwiseEmpty();
  }

  /** Why the instance cannot start, once all are read; null when it can. */
  @Nullable Throwable problem() {
    if (opened.failed()) {
      return opened.cause();
    }
    if (!serve.fromFile()) {
      return null; // what was kept ran once: operators see what has become of it
    }
    List<Problem> problems = new ArrayList<>();
    Throwable first = null;
    for (Builds.Reading load : loads) {
      Throwable cause = load.read().cause();
      if (cause instanceof ConfigException refused) {
        problems.addAll(refused.problems());
      } else if (cause != null && first == null) {
        String name = load.config().name();
        first = cause instanceof StartFailedException ? cause : unexpected(name, cause);
      }
    }
    return problems.isEmpty() ? first : new ConfigException(problems); // of all applications
  }

  private static StartFailedException unexpected(String application, Throwable cause) {
    LOG.error("application {} cannot be read", application, UserFailure.legible(cause));
    return new StartFailedException(
        "application " + application + ": " + StartFailedException.describe(cause));
  }

  /** Names of those that the start waits for. */
  List<String> awaited() {
    return serve.fromFile()
        ? serve.applications().stream().map(DeclaredApplication::name).toList()
        : List.of();
  }

  /** Hands what was read to whoever builds: it answers the first build of each. */
  void handTo(Builds builds) {
    loads.forEach(builds::readEarly);
    loads.clear();
  }

  /** Gives back the jars of what was read and not handed on. */
  void close() {
    loads.forEach(load -> load.read().onSuccess(read -> Builds.close(read.code())));
  }
}

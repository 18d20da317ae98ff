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
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The applications that an instance starts with, of its file or of what was kept: their code is
 * read while its event loops are made, for neither needs the other. Of a file's applications none
 * may be unfit. A worker starts with none. Made on any thread, then the control loop's.
 */
final class InitialApplications {
  private static final Logger LOG = LoggerFactory.getLogger(InitialApplications.class);

  private final Future<Void> opened;
  private final List<Builds.Reading> loads = new ArrayList<>();
  private List<String> awaited = List.of(); // those of a file; written before it is open

  /** Of a worker. */
  InitialApplications() {
    opened = Future.succeededFuture();
  }

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
                .filter(Objects::nonNull) // else it cannot be read: the build finds out why
                .forEach(source -> loads.add(Builds.read(threads, source)));
            promise.complete();
          } catch (Throwable thrown) { // whatever it is, the start must not wait for ever
            promise.tryFail(thrown);
          }
        });
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
    if (awaited.isEmpty()) {
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

  /** Returns the names of those that the start waits for. */
  List<String> awaited() {
    return awaited;
  }

  /** Hands what was read to whoever builds: it answers the first build of each. */
  void handTo(Builds builds) {
    loads.forEach(builds::readEarly);
    loads.clear();
  }

  /** Gives back the jars of what was read and not handed on. */
  void close() {
    loads.forEach(load -> load.read().onSuccess(read -> read.code().close()));
  }
}

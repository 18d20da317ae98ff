package dev.berth.node;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.Problem;
import dev.berth.config.ServeConfig;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The applications that a file asks for, as an instance starts with them: their code is read while
 * its event loops are made, for neither needs the other, and no one of them may be unfit.
 */
final class FileApplications {
  private static final Logger LOG = LoggerFactory.getLogger(FileApplications.class);

  private final Map<ApplicationConfig, Future<LoadedApplication>> loads = new LinkedHashMap<>();

  /** Starts to read them all. */
  FileApplications(ServeConfig config, Executor offLoop) {
    for (ApplicationConfig application : config.applications()) {
      Promise<LoadedApplication> loaded = Promise.promise();
      loads.put(application, loaded.future());
      offLoop.execute(
          () -> {
            try {
              loaded.complete(ApplicationLoader.load(application, config));
            } catch (Throwable thrown) { // user code
              loaded.fail(thrown);
            }
          });
    }
  }

  /** Completes when each of them is read, or failed to be; it does not fail. */
  Future<Void> read() {
    return Future.join(List.copyOf(loads.values())).<Void>mapEmpty().otherwiseEmpty();
  }

  /** Why the instance cannot start, once all are read; null when it can. */
  @Nullable Throwable problem() {
    List<Problem> problems = new ArrayList<>();
    Throwable first = null;
    for (Map.Entry<ApplicationConfig, Future<LoadedApplication>> load : loads.entrySet()) {
      Throwable cause = load.getValue().cause();
      if (cause instanceof ConfigException refused) {
        problems.addAll(refused.problems());
      } else if (cause != null && first == null) {
        first = cause instanceof StartFailedException ? cause : unexpected(load.getKey(), cause);
      }
    }
    return problems.isEmpty() ? first : new ConfigException(problems); // of all applications
  }

  private static StartFailedException unexpected(ApplicationConfig application, Throwable cause) {
    LOG.error("application {} cannot be read", application.name(), cause);
    return new StartFailedException(
        "application "
            + application.name()
            + ": import_path: "
            + application.importPath()
            + ": "
            + StartFailedException.describe(cause));
  }

  /** Hands what was read to whoever builds: it answers the first build of each. */
  void handTo(Builds builds) {
    loads.forEach((application, load) -> builds.readEarly(application.name(), load));
    loads.clear();
  }

  /** Gives back the jars of what was read and not handed on. */
  void close() {
    loads.values().forEach(load -> load.onSuccess(Builds::close));
  }
}

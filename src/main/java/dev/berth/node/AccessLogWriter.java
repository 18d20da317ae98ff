package dev.berth.node;

import dev.berth.ingress.access.AccessLog;
import dev.berth.metrics.Meters;
import dev.berth.replica.hooks.DaemonThread;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that writes the access log, once a route asks for it. Lines go to the logger {@code
 * berth.access}, at INFO, so that logback's own configuration may send them elsewhere. Belongs to
 * the control loop.
 */
final class AccessLogWriter {
  /** The lines are whole: time and level are not put before them by default. */
  static final String LOGGER = "berth.access";

  final AccessLog log; // where the loops put what is to be logged
  private final Meters meters;
  private final Promise<Void> ended = Promise.promise();
  private boolean started;

  AccessLogWriter(Meters meters) {
    Logger lines = LoggerFactory.getLogger(LOGGER);
    this.log = new AccessLog(AccessLog.DEFAULT_CAPACITY, System::currentTimeMillis, lines::info);
    this.meters = meters;
  }

  /** Begins to write; a second call does nothing. */
  void start() {
    if (started) {
      return;
    }
    started = true;
    log.show(meters);
    Runnable writer =
        () -> {
          log.run();
          ended.complete();
        };
    new DaemonThread(writer, "berth-access-log").start();
  }

  /** Writes what waits, then ends. */
  Future<Void> stop() {
    log.close();
    return started ? ended.future() : Future.succeededFuture();
  }
}

package dev.berth.node;

import dev.berth.ingress.access.AccessLog;
import dev.berth.metrics.Meters;
import dev.berth.replica.hooks.DaemonThread;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Thread that writes the access log, once a route requests one. Lines go to the logger {@code
 * berth.access} at INFO, so logback's configuration may redirect them. Confined to the control
 * loop.
 */
final class AccessLogWriter {
  /** Logger name. Each line is complete: the default layout adds no time and no level. */
  static final String LOGGER = "berth.access";

  final AccessLog log; // receives entries from the loops
  private final Meters meters;
  private final Promise<Void> ended = Promise.promise();
  private boolean started;

  AccessLogWriter(Meters meters) {
    Logger lines = LoggerFactory.getLogger(LOGGER);
    this.log = new AccessLog(AccessLog.DEFAULT_CAPACITY, System::currentTimeMillis, lines::info);
    this.meters = meters;
  }

  /** Starts the writer; a second call does nothing. */
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

  /** Writes the pending lines, then ends the thread. */
  Future<Void> stop() {
    log.close();
    return started ? ended.future() : Future.succeededFuture();
  }
}

package dev.berth.admin;

import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * Reads on a worker thread what takes long to read, once for all who ask at the same time, so that
 * asking often costs no more. Belongs to the control loop.
 */
final class SharedReads<T> {
  private final Map<String, Future<T>> reading = new HashMap<>();

  /**
   * @param what the same for those who may share; from a fixed set, never from a client
   */
  Future<T> read(Vertx vertx, String what, Callable<T> reader) {
    assert Context.isOnEventLoopThread();
    return reading.computeIfAbsent(
        what,
        first -> vertx.executeBlocking(reader, false).onComplete(done -> reading.remove(what)));
  }
}

package dev.berth.admin;

import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * Runs slow reads on a worker thread, once for all concurrent requests, so that frequent requests
 * cost no more than one. Confined to the control loop.
 */
final class SingleFlightReads<T> {
  private final Map<String, Future<T>> reading = new HashMap<>();

  /**
   * Returns the result of a running or new read.
   *
   * @param what key of the read, shared by equal requests; from a fixed set, never from a client
   */
  Future<T> read(Vertx vertx, String what, Callable<T> reader) {
    assert Context.isOnEventLoopThread();
    Future<T> read = reading.get(what);
    if (read == null) {
      read = vertx.executeBlocking(reader, false);
      reading.put(what, read); // before onComplete, which may run at once
      read.onComplete(done -> reading.remove(what));
    }
    return read;
  }
}

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
    Future<T> read = reading.get(what);
    if (read == null) {
      read = vertx.executeBlocking(reader, false);
      reading.put(what, read); // before it is asked for its end, which may have come
      read.onComplete(done -> reading.remove(what));
    }
    return read;
  }
}

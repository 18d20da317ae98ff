package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.dialect.DialectProblem;
import io.vertx.core.AsyncResult;
import io.vertx.core.buffer.Buffer;
import java.util.concurrent.CancellationException;
import java.util.function.Function;
import java.util.function.ObjLongConsumer;
import java.util.function.Supplier;

/** Scan of a whole body: of a short one on the event loop, of a large one on another thread. */
final class BodyScan {
  /** Maximum size in bytes of a body that the event loop scans; in 1 ms at most. */
  private static final int MAX_LOOP_BYTES = 1 << 18;

  private BodyScan() {}

  /**
   * Scans a body. A {@link DialectProblem} of the scan, or of the use of its result, refuses the
   * request.
   *
   * @param scan of the body, on any thread
   * @param use receives the result and the present time, on the event loop; not called if the
   *     client has left
   */
  static <T> void run(
      HttpExchange exchange,
      Buffer body,
      long nowNanos,
      Function<Buffer, T> scan,
      ObjLongConsumer<T> use) {
    if (body.length() <= MAX_LOOP_BYTES) {
      finish(exchange, () -> scan.apply(body), nowNanos, use);
      return;
    }
    exchange
        .loop
        .scan(exchange.route.to().application(), () -> scanLarge(exchange, body, scan))
        .onComplete(done -> finish(exchange, () -> result(done), exchange.loop.now(), use));
  }

  /** Scans a body on another thread, unless the client is seen to have left meanwhile. */
  private static <T> T scanLarge(HttpExchange exchange, Buffer body, Function<Buffer, T> scan) {
    if (exchange.isOver()) {
      throw new CancellationException();
    }
    return scan.apply(body);
  }

  private static <T> T result(AsyncResult<T> done) {
    if (done.failed()) {
      throw done.cause() instanceof DialectProblem problem
          ? problem
          : new BerthException.HandlerFailed("body not scanned", done.cause());
    }
    return done.result();
  }

  private static <T> void finish(
      HttpExchange exchange, Supplier<T> found, long nowNanos, ObjLongConsumer<T> use) {
    if (exchange.isOver()) {
      return; // the client left while its body was scanned
    }
    try {
      use.accept(found.get(), nowNanos);
    } catch (DialectProblem problem) {
      exchange.refuse(problem);
    } catch (BerthException failure) {
      exchange.onFailure(failure);
    }
  }
}

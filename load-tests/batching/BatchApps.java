import dev.berth.api.Application;
import dev.berth.api.AsyncBatchHandler;
import dev.berth.api.BatchHandler;
import dev.berth.api.BatchResult;
import dev.berth.api.Deployment;
import dev.berth.api.Deployment.BatchRules;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.Collections;
import java.util.concurrent.locks.LockSupport;

/** Applications with batches; the configuration sets their sizes. */
public final class BatchApps {
  private static final Response RESPONSE =
      Response.of(200, "text/plain", Buffer.buffer("0123456789abcdef0123456789abcdef"));
  private static final long WORK_NANOS = 10_000_000;
  private static final long SLEEP_NANOS = 9_700_000; // a sleep ends late by about 0.1 ms

  private BatchApps() {}

  /** Responds at once with the bytes of {@link NoOp}. */
  public static Application noOp() {
    AsyncBatchHandler handler =
        items ->
            Future.succeededFuture(
                Collections.nCopies(items.size(), BatchResult.of(RESPONSE)));
    return Application.of(
        Deployment.of("no-op", replica -> handler).withBatching(BatchRules.DEFAULTS));
  }

  /** Takes 10 ms by the clock for each batch of any size; responds with the id of the process. */
  public static Application work() {
    Response process =
        Response.of(
            200, "text/plain", Buffer.buffer(String.format("%-32d", ProcessHandle.current().pid())));
    BatchHandler handler =
        items -> {
          long end = System.nanoTime() + WORK_NANOS;
          LockSupport.parkNanos(SLEEP_NANOS);
          while (System.nanoTime() - end < 0) {
            Thread.onSpinWait();
          }
          return Collections.nCopies(items.size(), BatchResult.of(process));
        };
    return Application.of(Deployment.batch("work", handler));
  }
}

package dev.berth.cli.process;

import io.vertx.core.Future;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Started node, as {@code berth run} and {@code berth dev} need it. Its logger is separate from the
 * command's: help and wrong usage do not wait for the start of the logging.
 *
 * @param close drains and stops the node; completes when all parts have stopped
 * @param stopAsked completes when a request from inside the node stops it, with the name of the
 *     request
 * @param port port for clients
 * @param adminPort port of the admin server
 */
public record NodeHandle(
    Supplier<Future<Void>> close, Future<String> stopAsked, int port, int adminPort) {
  private static final Logger LOG = LoggerFactory.getLogger("berth");

  /**
   * Blocks until a stop signal from outside or inside, and then until the node has drained, at most
   * for {@code atMost}.
   *
   * @return whether the drain finished in time
   */
  public boolean drainAfter(CompletionStage<String> signal, Duration atMost)
      throws InterruptedException {
    String first =
        signal
            .applyToEither(stopAsked.toCompletionStage(), Function.identity())
            .toCompletableFuture()
            .join();
    LOG.info("drain: started by {}, at most {} ms", first, atMost.toMillis());
    try {
      close
          .get()
          .toCompletionStage()
          .toCompletableFuture()
          .get(atMost.toMillis(), TimeUnit.MILLISECONDS);
      LOG.info("drain: everything finished");
      return true;
    } catch (TimeoutException late) {
      LOG.warn("drain: not finished within {} ms: stopping anyway", atMost.toMillis());
      return false;
    } catch (ExecutionException failed) {
      LOG.error("drain: failed", failed.getCause());
      return false;
    }
  }
}

package dev.berth.cli;

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
 * A started node, as {@code berth run} needs it. Its logger is not the command's: help and wrong
 * usage do not wait for the logging to start.
 *
 * @param close drains and stops it; completes when nothing of it is left
 * @param stopAsked completes when it is told to stop from inside, with who told it
 */
record RunningNode(Supplier<Future<Void>> close, Future<String> stopAsked) {
  private static final Logger LOG = LoggerFactory.getLogger("berth");

  /**
   * Blocks until a signal to stop, from outside or inside, and then until the node has drained, or
   * may no longer.
   *
   * @return whether everything finished in time
   */
  boolean drainAfter(CompletionStage<String> signal, Duration atMost) throws InterruptedException {
    String first =
        signal
            .applyToEither(stopAsked.toCompletionStage(), Function.identity())
            .toCompletableFuture()
            .join();
    LOG.info("Drain started by {}, at most {} ms", first, atMost.toMillis());
    try {
      close
          .get()
          .toCompletionStage()
          .toCompletableFuture()
          .get(atMost.toMillis(), TimeUnit.MILLISECONDS);
      LOG.info("Drain ended: everything finished");
      return true;
    } catch (TimeoutException late) {
      LOG.warn("Drain ended: not finished within {} ms, stopping anyway", atMost.toMillis());
      return false;
    } catch (ExecutionException failed) {
      LOG.error("Drain ended: failed", failed.getCause());
      return false;
    }
  }
}

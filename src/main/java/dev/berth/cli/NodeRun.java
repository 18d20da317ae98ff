package dev.berth.cli;

import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One node's life on the thread that called {@code berth run}: start, wait for the signal, drain.
 * Kept apart from the command so that help and wrong usage do not wait for the logging to start.
 */
final class NodeRun {

  private static final Logger LOG = LoggerFactory.getLogger("berth");

  private NodeRun() {}

  /**
   * Blocks until the node has drained, or may no longer.
   *
   * @return whether everything finished in time
   * @throws ExecutionException with the reason the node could not start, which may be the signal
   */
  static boolean untilStopped(
      ServeConfig config,
      BiFunction<ServeConfig, CompletionStage<String>, Future<RunningNode>> start,
      CompletionStage<String> stopSignal)
      throws ExecutionException, InterruptedException {
    RunningNode node =
        start.apply(config, stopSignal).toCompletionStage().toCompletableFuture().get();
    String signal =
        stopSignal
            .applyToEither(node.stopAsked().toCompletionStage(), Function.identity())
            .toCompletableFuture()
            .join();
    return drain(node, signal, config.get(InstanceOptions.SHUTDOWN_TIMEOUT_S));
  }

  private static boolean drain(RunningNode node, String signal, Duration atMost)
      throws InterruptedException {
    LOG.info("Drain started by {}, at most {} ms", signal, atMost.toMillis());
    try {
      node.close()
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

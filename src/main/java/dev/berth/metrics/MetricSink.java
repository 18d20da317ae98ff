package dev.berth.metrics;

import dev.berth.protocol.BusMessage.HandleMetricBatch;
import io.vertx.core.Future;

/**
 * Takes batches to the controller, one at a time. An implementation answers within a bounded time
 * or not at all: the pusher gives up a batch that stays unanswered.
 */
@FunctionalInterface
public interface MetricSink {

  /**
   * @return completes on the caller's context when the controller has the batch; fails when it
   *     certainly, or perhaps, has not: what it told is then told again
   */
  Future<Void> push(HandleMetricBatch batch);
}

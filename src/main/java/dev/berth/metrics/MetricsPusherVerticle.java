package dev.berth.metrics;

import dev.berth.protocol.BusMessage.HandleMetricBatch;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the instance's {@link MetricsPusher}: one timer on the control event loop. Deploy exactly
 * one per instance, whatever the number of loops. What it says is decided by the pusher.
 */
public final class MetricsPusherVerticle extends VerticleBase {
  private static final Logger LOG = LoggerFactory.getLogger(MetricsPusherVerticle.class);

  /** How long the end of an instance waits for its last batch to be taken. */
  private static final Duration LAST_BATCH_LIMIT = Duration.ofSeconds(1);

  private final MetricsPusher pusher;
  private final Function<HandleMetricBatch, Future<Void>> sink;
  private final Duration recordInterval;
  private long timer = -1;
  private boolean controllerLost;

  /**
   * @param sink takes batches to the controller, one at a time; completes here when that has one,
   *     and fails within a bounded time when it certainly, or perhaps, has not
   */
  public MetricsPusherVerticle(
      MetricsPusher pusher,
      Function<HandleMetricBatch, Future<Void>> sink,
      Duration recordInterval) {
    this.pusher = pusher;
    this.sink = sink;
    this.recordInterval = recordInterval;
  }

  @Override
  public Future<?> start() {
    timer = vertx.setPeriodic(recordInterval.toMillis(), id -> tick());
    return Future.succeededFuture();
  }

  @Override
  public Future<?> stop() {
    vertx.cancelTimer(timer);
    Promise<Void> stopped = Promise.promise();
    long limit = vertx.setTimer(LAST_BATCH_LIMIT.toMillis(), id -> stopped.tryComplete());
    pushed(pusher.lastBatch())
        .onComplete(
            answer -> {
              vertx.cancelTimer(limit);
              stopped.tryComplete(); // a lost last batch is no reason not to stop
            });
    return stopped.future();
  }

  private void tick() {
    HandleMetricBatch batch = pusher.tick();
    if (batch != null) {
      pushed(batch)
          .onComplete(
              answer -> {
                pusher.settled(batch.sequence(), answer.succeeded());
                report(answer.cause());
              });
    }
  }

  private Future<Void> pushed(HandleMetricBatch batch) {
    try {
      return sink.apply(batch);
    } catch (RuntimeException thrown) {
      return Future.failedFuture(thrown);
    }
  }

  private void report(@Nullable Throwable failure) {
    if (failure != null && !controllerLost) {
      LOG.warn("metrics are not reaching the controller: {}", failure.toString());
    } else if (failure == null && controllerLost) {
      LOG.info("metrics reach the controller again");
    }
    controllerLost = failure != null;
  }
}

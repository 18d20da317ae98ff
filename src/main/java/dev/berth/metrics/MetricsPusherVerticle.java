package dev.berth.metrics;

import dev.berth.protocol.BusMessage.HandleMetricBatch;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
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
  private static final long LAST_BATCH_LIMIT_MS = 1_000;

  private final MetricsPusher pusher;
  private final Function<HandleMetricBatch, Future<Long>> sink;
  private final List<Long> timers = new ArrayList<>();
  private boolean controllerLost;

  /**
   * @param sink takes batches to the controller, one at a time; completes here with its term when
   *     that has one, and fails within a bounded time when it certainly, or perhaps, has not
   */
  public MetricsPusherVerticle(
      MetricsPusher pusher, Function<HandleMetricBatch, Future<Long>> sink) {
    this.pusher = pusher;
    this.sink = sink;
  }

  @Override
  public Future<?> start() {
    every(pusher.replicaRhythm().record(), pusher::sampleReplicas);
    every(pusher.rhythm().record(), () -> push(pusher.tick()));
    pusher.onSignal(() -> context.runOnContext(soon -> push(pusher.signalBatch())));
    return Future.succeededFuture();
  }

  @Override
  public Future<?> stop() {
    pusher.onSignal(() -> {});
    timers.forEach(vertx::cancelTimer);
    return pushed(pusher.lastBatch())
        .timeout(LAST_BATCH_LIMIT_MS, TimeUnit.MILLISECONDS)
        .otherwiseEmpty(); // a lost last batch is no reason not to stop
  }

  private void every(Duration interval, Runnable task) {
    timers.add(vertx.setPeriodic(interval.toMillis(), id -> task.run()));
  }

  private void push(@Nullable HandleMetricBatch batch) {
    if (batch != null) {
      pushed(batch)
          .onComplete(
              answer -> {
                pusher.settled(batch.sequence(), answer.succeeded() ? answer.result() : -1);
                report(answer.cause());
                push(pusher.signalBatch()); // what signalled meanwhile
              });
    }
  }

  private Future<Long> pushed(HandleMetricBatch batch) {
    try {
      return sink.apply(batch);
    } catch (RuntimeException thrown) {
      return Future.failedFuture(thrown);
    }
  }

  private void report(@Nullable Throwable failure) {
    if (failure != null && !controllerLost) {
      String why = Objects.requireNonNullElse(failure.getMessage(), failure.toString());
      LOG.warn("metrics are not reaching the controller: {}", why);
    } else if (failure == null && controllerLost) {
      LOG.info("metrics reach the controller again");
    }
    controllerLost = failure != null;
  }
}

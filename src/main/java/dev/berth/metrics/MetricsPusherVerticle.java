package dev.berth.metrics;

import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.port.TickTimer;
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
 * Runs the instance's {@link MetricsPusher} with ticks on the control loop. Deploy exactly one per
 * instance, regardless of the number of loops. The pusher decides on the contents.
 */
public final class MetricsPusherVerticle extends VerticleBase {
  private static final Logger LOG = LoggerFactory.getLogger(MetricsPusherVerticle.class);

  /** Maximum wait in milliseconds for the last batch at the end of an instance. */
  private static final long LAST_BATCH_LIMIT_MS = 1_000;

  private final MetricsPusher pusher;
  private final Function<HandleMetricBatch, Future<Long>> sink;
  private final TickTimer control;
  private final List<TickTimer.LoopTick> ticks = new ArrayList<>();
  private boolean controllerLost;

  /**
   * @param control timer of the control loop
   * @param sink sends batches to the controller, one at a time. Completes on this loop with the
   *     controller's term if it has the batch; fails within a bounded time if it does not, or may
   *     not
   */
  public MetricsPusherVerticle(
      TickTimer control, MetricsPusher pusher, Function<HandleMetricBatch, Future<Long>> sink) {
    this.control = control;
    this.pusher = pusher;
    this.sink = sink;
  }

  @Override
  public Future<?> start() {
    every(pusher.replicaRhythm().record(), pusher::sampleReplicas);
    every(pusher.rhythm().record(), () -> push(pusher.tick()));
    pusher.onSignal(() -> context.runOnContext(soon -> signalled()));
    return Future.succeededFuture();
  }

  @Override
  public Future<?> stop() {
    pusher.onSignal(() -> {});
    ticks.forEach(TickTimer.LoopTick::stop);
    return pushed(pusher.lastBatch())
        .timeout(LAST_BATCH_LIMIT_MS, TimeUnit.MILLISECONDS)
        .otherwiseEmpty(); // the stop does not depend on the last batch
  }

  private void every(Duration interval, Runnable task) {
    TickTimer.LoopTick tick = control.every(interval.toNanos());
    ticks.add(tick);
    tick.start(
        () -> {
          task.run();
          return pusher.untilNext();
        },
        () -> {});
  }

  private void signalled() {
    push(pusher.signalBatch());
    ticks.forEach(TickTimer.LoopTick::need); // if the batch has to wait
  }

  private void push(@Nullable HandleMetricBatch batch) {
    if (batch != null) {
      pushed(batch)
          .onComplete(
              answer -> {
                if (pusher.onSettled(batch.sequence(), answer.succeeded() ? answer.result() : -1)) {
                  ticks.forEach(TickTimer.LoopTick::need);
                }
                report(answer.cause());
                push(pusher.signalBatch()); // for signals in the meantime
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
      LOG.warn("metrics: controller does not acknowledge them: {}", why);
    } else if (failure == null && controllerLost) {
      LOG.info("metrics: controller acknowledges them again");
    }
    controllerLost = failure != null;
  }
}

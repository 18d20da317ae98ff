package dev.berth.replica;

import dev.berth.protocol.BusMessage;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The shell of one {@link ReplicaLoop}: one consumer of its address, one periodic timer, on the
 * verticle's event loop.
 */
public final class ReplicaVerticle extends VerticleBase {
  private final BiFunction<Executor, LoopTimer, ReplicaLoop> make;
  private volatile @Nullable ReplicaLoop loop;
  private @Nullable MessageConsumer<BusMessage> consumer;
  private long ticker;

  /**
   * @param make the loop, given how to run a task and how to delay one on this verticle's context
   */
  public ReplicaVerticle(BiFunction<Executor, LoopTimer, ReplicaLoop> make) {
    this.make = make;
  }

  /** The loop; after the verticle was deployed. Any thread. */
  public ReplicaLoop loop() {
    return Objects.requireNonNull(loop, "loop: null (expected: a deployed verticle)");
  }

  @Override
  public Future<?> start() {
    ReplicaLoop made =
        make.apply(task -> context.runOnContext(none -> task.run()), this::startTimer);
    loop = made;
    consumer = vertx.eventBus().localConsumer(made.busAddress());
    consumer.handler(message -> made.onMessage(message.body()));
    ticker =
        vertx.setPeriodic(TimeUnit.NANOSECONDS.toMillis(ReplicaLoop.TICK_NANOS), id -> made.tick());
    return consumer.completion();
  }

  private Runnable startTimer(long delayNanos, Runnable task) {
    long millis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(delayNanos + 999_999)); // up, not down
    long id = vertx.setTimer(millis, fired -> task.run());
    return () -> vertx.cancelTimer(id);
  }

  @Override
  public Future<?> stop() {
    vertx.cancelTimer(ticker);
    return consumer == null ? Future.succeededFuture() : consumer.unregister();
  }
}

package dev.berth.controller;

import dev.berth.protocol.Addresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The shell of the {@link Controller}: the one consumer of its address, on the control event loop.
 * One per cluster.
 */
public final class ControllerVerticle extends VerticleBase {
  private final Controller controller;
  private final LongSupplier nanoClock;
  private final Consumer<ControllerAction> apply;
  private @Nullable MessageConsumer<BusMessage> consumer;

  /**
   * @param apply does what the controller wants done; called on the control event loop, in order
   */
  public ControllerVerticle(
      Controller controller, LongSupplier nanoClock, Consumer<ControllerAction> apply) {
    this.controller = controller;
    this.nanoClock = nanoClock;
    this.apply = apply;
  }

  @Override
  public Future<?> start() {
    consumer = vertx.eventBus().localConsumer(Addresses.CONTROLLER);
    consumer.handler(this::onMessage);
    return consumer.completion();
  }

  /** Tells the controller something, later, in the order of the calls. Any thread. */
  public void tell(ControllerEvent event) {
    context.runOnContext(none -> controller.on(event).forEach(apply));
  }

  private void onMessage(Message<BusMessage> message) {
    if (message.body() instanceof HandleMetricBatch batch) {
      controller.record(batch, nanoClock.getAsLong());
      message.reply(null); // a stale one too: its sender need not tell it again
    } else {
      message.fail(
          400, "message: " + message.body().getClass().getSimpleName() + " (expected: a batch)");
    }
  }

  @Override
  public Future<?> stop() {
    return consumer == null ? Future.succeededFuture() : consumer.unregister();
  }
}

package dev.berth.node;

import dev.berth.metrics.MetricSink;
import dev.berth.protocol.Addresses;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.Future;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;

/** Takes batches to the controller over the event bus. */
final class BusMetricSink implements MetricSink {
  /** Shorter than the time after which the pusher gives a batch up. */
  private static final long ANSWER_TIMEOUT_MS = 1_500;

  private static final DeliveryOptions OPTIONS =
      new DeliveryOptions()
          .setCodecName(BusMessageCodec.NAME)
          .setLocalOnly(true)
          .setSendTimeout(ANSWER_TIMEOUT_MS);

  private final EventBus bus;

  BusMetricSink(EventBus bus) {
    this.bus = bus;
  }

  @Override
  public Future<Void> push(HandleMetricBatch batch) {
    return bus.request(Addresses.CONTROLLER, batch, OPTIONS).mapEmpty();
  }
}

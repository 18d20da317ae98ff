package dev.berth.cluster.bus;

import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import io.vertx.core.Handler;
import io.vertx.core.eventbus.DeliveryContext;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.eventbus.impl.OutboundDeliveryContext;
import java.util.concurrent.atomic.LongAdder;

/**
 * The outbound interceptor that fails messages of applications to addresses of Berth. Berth's own
 * messages have a body that applications cannot create, because their class loaders hide its class.
 * Thread-safe.
 */
public final class ReservedAddresses implements Handler<DeliveryContext<Object>> {
  private final LongAdder refused = new LongAdder();

  private ReservedAddresses() {}

  public static ReservedAddresses install(EventBus bus) {
    ReservedAddresses made = new ReservedAddresses();
    bus.addOutboundInterceptor(made);
    return made;
  }

  @Override
  public void handle(DeliveryContext<Object> delivery) {
    String address = delivery.message().address();
    if (!BusAddresses.isReserved(address) || delivery.body() instanceof BusMessage) {
      delivery.next();
      return;
    }
    refused.increment();
    String reason = "address %s: reserved (expected: one without berth.)".formatted(address);
    ((OutboundDeliveryContext<Object>) delivery)
        .tryFail(new ReplyException(ReplyFailure.ERROR, reason));
  }

  /** Returns the number of failed messages. */
  public long refused() {
    return refused.sum();
  }
}

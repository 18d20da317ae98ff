package dev.berth.cluster.bus;

import dev.berth.protocol.BusAddresses;
import io.vertx.core.Handler;
import io.vertx.core.eventbus.DeliveryContext;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.eventbus.impl.EventBusImpl;
import io.vertx.core.eventbus.impl.HandlerHolder;
import io.vertx.core.eventbus.impl.MessageConsumerImpl;
import io.vertx.core.eventbus.impl.OutboundDeliveryContext;
import io.vertx.core.impl.utils.ConcurrentCyclicSequence;
import java.lang.reflect.Field;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The outbound interceptor that fails messages of applications to addresses of Berth, and keeps
 * their consumers off these addresses. Berth's own messages have a body that applications cannot
 * create, because their class loaders hide its class. Thread-safe.
 *
 * <p><b>Consumers.</b> Vert.x delivers each message to one of the consumers of its address in turn.
 * Berth has at most one consumer per address. Each further one is removed when it is registered on
 * a clustered bus, and before Berth sends a message to it inside the instance.
 */
public final class ReservedAddresses implements Handler<DeliveryContext<Object>> {
  /** Types of Berth's messages, which the class loaders of applications hide. */
  private static final ClassValue<Boolean> OF_BERTH =
      new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
          return type.getClassLoader() == ReservedAddresses.class.getClassLoader()
              && (type.getName().startsWith("dev.berth.protocol.")
                  || type.getName().startsWith("dev.berth.cluster."));
        }
      };

  private final ConcurrentMap<String, ConcurrentCyclicSequence<HandlerHolder<?>>> consumers;
  private final LongAdder refused = new LongAdder();

  private ReservedAddresses(EventBus bus) {
    consumers = consumers(bus);
  }

  static ReservedAddresses install(EventBus bus) {
    ReservedAddresses made = new ReservedAddresses(bus);
    bus.addOutboundInterceptor(made);
    return made;
  }

  /** Returns the consumers of Vert.x by address. */
  public static ConcurrentMap<String, ConcurrentCyclicSequence<HandlerHolder<?>>> consumers(
      EventBus bus) {
    return read(EventBusImpl.class, bus, "handlerMap");
  }

  /**
   * Reads a private field of Vert.x.
   *
   * @throws IllegalStateException for another version of Vert.x
   */
  @SuppressWarnings("unchecked")
  public static <T> T read(Class<?> type, Object of, String name) {
    try {
      Field field = type.getDeclaredField(name);
      field.setAccessible(true);
      return (T) field.get(of);
    } catch (ReflectiveOperationException other) {
      throw new IllegalStateException("Vert.x: another version (expected: that of Berth)", other);
    }
  }

  @Override
  public void handle(DeliveryContext<Object> delivery) {
    String address = delivery.message().address();
    if (!BusAddresses.isReserved(address)) {
      delivery.next();
    } else if (delivery.body() != null && OF_BERTH.get(delivery.body().getClass())) {
      ConcurrentCyclicSequence<HandlerHolder<?>> known = consumers.get(address);
      if (known != null && known.size() > 1) {
        removeForeign(consumers, address);
      }
      delivery.next();
    } else {
      refused.increment();
      String reason = "address %s: reserved (expected: one without berth.)".formatted(address);
      ((OutboundDeliveryContext<Object>) delivery)
          .tryFail(new ReplyException(ReplyFailure.ERROR, reason));
    }
  }

  /**
   * Removes all consumers of an address of Berth but the first of Berth. Takes no lock of Vert.x.
   */
  static void removeForeign(
      ConcurrentMap<String, ConcurrentCyclicSequence<HandlerHolder<?>>> consumers, String address) {
    ConcurrentCyclicSequence<HandlerHolder<?>> all;
    ConcurrentCyclicSequence<HandlerHolder<?>> kept;
    do {
      all = consumers.get(address);
      kept = new ConcurrentCyclicSequence<>();
      for (HandlerHolder<?> each : all == null ? kept : all) {
        kept = kept.size() == 0 && isOfBerth(each) ? kept.add(each) : kept;
      }
    } while (all != null
        && !(kept.size() == 0
            ? consumers.remove(address, all)
            : consumers.replace(address, all, kept)));
  }

  private static boolean isOfBerth(HandlerHolder<?> consumer) {
    Object handler = handlerOf(consumer);
    return handler != null
        && handler.getClass().getClassLoader() == ReservedAddresses.class.getClassLoader();
  }

  /** Returns the handler of a consumer; null for none. */
  public static @Nullable Object handlerOf(HandlerHolder<?> consumer) {
    return consumer.getHandler() instanceof MessageConsumerImpl<?> found
        ? read(MessageConsumerImpl.class, found, "handler")
        : null;
  }

  /** Returns the number of failed messages. */
  long refusedCount() {
    return refused.sum();
  }
}

package dev.berth.node;

import io.vertx.core.Handler;
import io.vertx.core.eventbus.DeliveryContext;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.MessageCodec;
import io.vertx.core.eventbus.impl.CodecManager;
import io.vertx.core.eventbus.impl.EventBusImpl;
import io.vertx.core.eventbus.impl.HandlerHolder;
import io.vertx.core.eventbus.impl.MessageConsumerImpl;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removal of the consumers, codecs and interceptors of closed code from the event bus. Vert.x does
 * not list these, so this class reads private fields of its event bus.
 */
final class EventBusCleanup {
  private static final Logger LOG = LoggerFactory.getLogger(EventBusCleanup.class);

  private final EventBus bus;
  private final ClassLoader closed;

  private EventBusCleanup(EventBus bus, ClassLoader closed) {
    this.bus = bus;
    this.closed = closed;
  }

  /** Removes everything that a class of the loader, or a lambda in one, was registered for. */
  static void remove(EventBus bus, ClassLoader closed) {
    EventBusCleanup made = new EventBusCleanup(bus, closed);
    try {
      made.removeConsumers();
      made.removeInterceptors();
      made.removeCodecs();
    } catch (ReflectiveOperationException | RuntimeException other) { // another Vert.x
      LOG.warn("event bus: consumers of {} may remain", closed.getName(), other);
    }
  }

  private void removeConsumers() throws ReflectiveOperationException {
    Map<String, Iterable<HandlerHolder<?>>> all = read(EventBusImpl.class, bus, "handlerMap");
    for (Iterable<HandlerHolder<?>> ofAddress : all.values()) {
      for (HandlerHolder<?> each : ofAddress) {
        if (each.getHandler() instanceof MessageConsumerImpl<?> consumer
            && isOfClosed(consumer.getHandler())) {
          consumer.unregister();
        }
      }
    }
  }

  private void removeInterceptors() throws ReflectiveOperationException {
    Handler<DeliveryContext<Object>>[] all = read(EventBusImpl.class, bus, "outboundInterceptors");
    for (Handler<DeliveryContext<Object>> each : all) {
      if (isOfClosed(each)) {
        bus.removeOutboundInterceptor(each);
      }
    }
    all = read(EventBusImpl.class, bus, "inboundInterceptors");
    for (Handler<DeliveryContext<Object>> each : all) {
      if (isOfClosed(each)) {
        bus.removeInboundInterceptor(each);
      }
    }
  }

  private void removeCodecs() throws ReflectiveOperationException {
    CodecManager codecs = read(EventBusImpl.class, bus, "codecManager");
    Map<Class<?>, MessageCodec<?, ?>> byClass = read(CodecManager.class, codecs, "defaultCodecMap");
    byClass.forEach(
        (type, codec) -> {
          if (type.getClassLoader() == closed || isOfClosed(codec)) {
            bus.unregisterDefaultCodec(type);
          }
        });
    Map<String, MessageCodec<?, ?>> byName = read(CodecManager.class, codecs, "userCodecMap");
    byName.values().stream()
        .filter(this::isOfClosed)
        .map(MessageCodec::name)
        .forEach(bus::unregisterCodec);
    if (isOfClosed(read(CodecManager.class, codecs, "codecSelector"))) {
      bus.codecSelector(body -> null);
    }
  }

  @SuppressWarnings("unchecked")
  private static <T> T read(Class<?> type, Object of, String field)
      throws ReflectiveOperationException {
    Field found = type.getDeclaredField(field);
    found.setAccessible(true);
    return (T) found.get(of);
  }

  /** Returns whether the object, or one that it refers to, has a class of the closed loader. */
  private boolean isOfClosed(@Nullable Object registered) {
    if (registered == null || registered.getClass().getClassLoader() == closed) {
      return registered != null;
    }
    for (Field each : registered.getClass().getDeclaredFields()) {
      if (!Modifier.isStatic(each.getModifiers()) && each.trySetAccessible()) {
        try {
          Object wrapped = each.get(registered);
          if (wrapped != null && wrapped.getClass().getClassLoader() == closed) {
            return true;
          }
        } catch (IllegalAccessException impossible) { // accessible
          throw new IllegalStateException(impossible);
        }
      }
    }
    return false;
  }
}

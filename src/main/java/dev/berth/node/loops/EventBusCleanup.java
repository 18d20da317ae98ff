package dev.berth.node.loops;

import static dev.berth.cluster.bus.ReservedAddresses.read;

import dev.berth.cluster.bus.ReservedAddresses;
import io.vertx.core.Handler;
import io.vertx.core.eventbus.DeliveryContext;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.MessageCodec;
import io.vertx.core.eventbus.impl.CodecManager;
import io.vertx.core.eventbus.impl.EventBusImpl;
import io.vertx.core.eventbus.impl.HandlerHolder;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removal of the consumers, codecs and interceptors of closed code from the event bus. Vert.x does
 * not list these, so this class reads private fields of its event bus.
 */
public final class EventBusCleanup {
  private static final Logger LOG = LoggerFactory.getLogger(EventBusCleanup.class);

  private final EventBus bus;
  private final ClassLoader closed;

  private EventBusCleanup(EventBus bus, ClassLoader closed) {
    this.bus = bus;
    this.closed = closed;
  }

  /** Removes everything that code of a closed class loader registered; null for Berth's loader. */
  public static void remove(EventBus bus, @Nullable ClassLoader closed) {
    run(
        bus,
        closed,
        made -> {
          made.removeConsumers();
          made.removeInterceptors();
          made.removeCodecs();
        });
  }

  /** Removes the consumers of a class loader that no replica uses. */
  public static void removeConsumers(EventBus bus, @Nullable ClassLoader unused) {
    run(bus, unused, EventBusCleanup::removeConsumers);
  }

  private static void run(
      EventBus bus, @Nullable ClassLoader of, Consumer<EventBusCleanup> removal) {
    if (of != null) {
      try {
        removal.accept(new EventBusCleanup(bus, of));
      } catch (RuntimeException other) { // another Vert.x
        LOG.warn("event bus: consumers of {} may remain", of.getName(), other);
      }
    }
  }

  private void removeConsumers() {
    for (Iterable<HandlerHolder<?>> ofAddress : ReservedAddresses.consumers(bus).values()) {
      for (HandlerHolder<?> each : ofAddress) {
        if (isOfClosed(ReservedAddresses.handlerOf(each))) {
          each.getHandler().unregister();
        }
      }
    }
  }

  private void removeInterceptors() {
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

  private void removeCodecs() {
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

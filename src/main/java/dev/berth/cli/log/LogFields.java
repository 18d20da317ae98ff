package dev.berth.cli.log;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import dev.berth.code.CallerApplicationResolver;
import dev.berth.node.loops.RequestLocal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.KeyValuePair;

/**
 * Fields of a log event beside its message, and its application. Confined to the logging thread.
 */
public final class LogFields {
  private static final String APPLICATION = "application";

  /** Logger prefixes of the server, whose lines name their application explicitly. */
  private static final List<String> SERVERS = List.of("dev.berth.", "io.vertx.", "io.netty.");

  /** Maximum characters of a stack, since a stack overflow has a thousand frames. */
  private static final int MAX_STACK_CHARS = 16 << 10;

  private LogFields() {}

  /**
   * Returns the fields of an event: the event loop's current request, the thread's MDC, then the
   * event's own pairs in their order. A later field replaces an earlier one of the same name.
   * Without an application among them, the application is that of the code on the stack.
   */
  public static Map<String, @Nullable Object> of(ILoggingEvent event) {
    Map<String, @Nullable Object> fields = new LinkedHashMap<>(RequestLocal.fields());
    Map<String, String> ofThread = event.getMDCPropertyMap();
    if (ofThread != null) {
      fields.putAll(ofThread);
    }
    List<KeyValuePair> pairs = event.getKeyValuePairs();
    if (pairs != null) {
      for (KeyValuePair pair : pairs) {
        fields.remove(pair.key); // the last pair defines the position
        fields.put(pair.key, pair.value);
      }
    }
    if (!fields.containsKey(APPLICATION) && !isServers(event.getLoggerName())) {
      String application = CallerApplicationResolver.find();
      if (application != null) {
        fields.put(APPLICATION, application);
      }
    }
    return fields;
  }

  /**
   * Returns the stack of the logged error, truncated at {@code MAX_STACK_CHARS}; null without an
   * error.
   */
  public static @Nullable String stack(ILoggingEvent event) {
    IThrowableProxy thrown = event.getThrowableProxy();
    String text = thrown == null ? "" : ThrowableProxyUtil.asString(thrown);
    return thrown == null
        ? null
        : text.length() <= MAX_STACK_CHARS ? text : text.substring(0, MAX_STACK_CHARS) + "...\n";
  }

  /** Returns whether a logger is one of the server, as opposed to user code. */
  static boolean isServers(String logger) {
    return logger.equals("berth") || SERVERS.stream().anyMatch(logger::startsWith);
  }

  /** Returns a value as text, even if its {@code toString} throws. */
  public static String text(@Nullable Object value) {
    try {
      return String.valueOf(value);
    } catch (Throwable thrown) { // user code may throw anything
      return "[toString of " + value.getClass().getName() + " failed]";
    }
  }
}

package dev.berth.cli.log;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import dev.berth.code.CallingApplication;
import dev.berth.node.loops.RequestLocal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.KeyValuePair;

/** What an event was logged with beside its message, and whose it is. On the thread that logs. */
public final class LogFields {
  private static final String APPLICATION = "application";

  /** Loggers of the server: what they say of an application, they say themselves. */
  private static final List<String> SERVERS = List.of("dev.berth.", "io.vertx.", "io.netty.");

  /** Characters of a stack: one that overflowed has a thousand frames, a line of the log not. */
  private static final int MAX_STACK_CHARS = 16 << 10;

  private LogFields() {}

  /**
   * The request that the event loop works for, the thread's MDC, and then the event's own pairs in
   * their order; one of the same name takes the place of the other. What names no application by
   * these is of the one whose code is on the stack.
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
        fields.remove(pair.key); // its place is that of the last one
        fields.put(pair.key, pair.value);
      }
    }
    if (!fields.containsKey(APPLICATION) && !isServers(event.getLoggerName())) {
      String application = CallingApplication.find();
      if (application != null) {
        fields.put(APPLICATION, application);
      }
    }
    return fields;
  }

  /** The stack of what was thrown, cut where nobody reads on; null for none. */
  public static @Nullable String stack(ILoggingEvent event) {
    IThrowableProxy thrown = event.getThrowableProxy();
    String text = thrown == null ? "" : ThrowableProxyUtil.asString(thrown);
    return thrown == null
        ? null
        : text.length() <= MAX_STACK_CHARS ? text : text.substring(0, MAX_STACK_CHARS) + "...\n";
  }

  /** Whether it is a logger of the server, and not of user code. */
  static boolean isServers(String logger) {
    return logger.equals("berth") || SERVERS.stream().anyMatch(logger::startsWith);
  }

  /** A value as text: one that cannot say what it is must not take the line with it. */
  public static String text(@Nullable Object value) {
    try {
      return String.valueOf(value);
    } catch (Throwable thrown) { // user code
      return "[toString of " + value.getClass().getName() + " failed]";
    }
  }
}

package dev.berth.cli;

import ch.qos.logback.classic.spi.ILoggingEvent;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.KeyValuePair;

/** What an event was logged with beside its message. */
final class LogFields {
  private LogFields() {}

  /**
   * The thread's MDC first, then the event's own pairs in their order; one of the same name takes
   * the place of the other.
   */
  static Map<String, @Nullable Object> of(ILoggingEvent event) {
    List<KeyValuePair> pairs = event.getKeyValuePairs();
    Map<String, String> ofThread = event.getMDCPropertyMap();
    boolean none = pairs == null || pairs.isEmpty();
    if (none && (ofThread == null || ofThread.isEmpty())) {
      return Map.of();
    }
    Map<String, @Nullable Object> fields = new LinkedHashMap<>();
    if (ofThread != null) {
      fields.putAll(ofThread);
    }
    if (pairs != null) {
      for (KeyValuePair pair : pairs) {
        fields.remove(pair.key); // its place is that of the last one
        fields.put(pair.key, pair.value);
      }
    }
    return fields;
  }
}

package dev.berth.cli.log;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.LayoutBase;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * JSON layout of the log, one object per event and line: {@code logging_config.encoding: JSON}.
 * Fields of an event are beside the layout's own keys; a field with such a name gets an underscore.
 */
public final class JsonLines extends LayoutBase<ILoggingEvent> {
  private static final Set<String> OWN =
      Set.of("time", "level", "logger", "thread", "message", "exception");

  @Override
  public String doLayout(ILoggingEvent event) {
    JsonObject line =
        new JsonObject()
            .put("time", Instant.ofEpochMilli(event.getTimeStamp()).toString())
            .put("level", event.getLevel().toString())
            .put("logger", event.getLoggerName())
            .put("thread", event.getThreadName())
            .put("message", event.getFormattedMessage());
    LogFields.of(event)
        .forEach((key, value) -> line.put(OWN.contains(key) ? key + "_" : key, json(value)));
    String stack = LogFields.stack(event);
    if (stack != null) {
      line.put("exception", stack);
    }
    return line.encode() + "\n";
  }

  /**
   * Returns integers and booleans as JSON values, for comparisons, and all other values as text.
   */
  private static @Nullable Object json(@Nullable Object value) {
    boolean asIs =
        value == null
            || value instanceof Integer
            || value instanceof Long
            || value instanceof Boolean;
    return asIs ? value : LogFields.text(value);
  }
}

package dev.berth.admin.live;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Last sampled entries of a topic, and the events that describe them. All viewers share these
 * events. One thread at a time.
 */
final class TopicEntries {
  private final String topic;
  private Map<String, ?> entries = Map.of();
  private long number; // of the last change
  private long atMs;
  private @Nullable Buffer snapshot; // of the entries; null until it is needed

  TopicEntries(String topic) {
    this.topic = topic;
  }

  /** Returns the event with the changes; null without changes. */
  @Nullable Buffer update(Map<String, ?> now, long nowMs) {
    JsonObject changed = new JsonObject();
    now.forEach(
        (key, value) -> {
          if (!value.equals(entries.get(key))) {
            changed.put(key, value);
          }
        });
    JsonArray removed = new JsonArray();
    entries.keySet().stream().filter(key -> !now.containsKey(key)).forEach(removed::add);
    entries = now;
    if (number > 0 && changed.isEmpty() && removed.isEmpty()) {
      return null;
    }
    number++;
    atMs = nowMs;
    snapshot = null;
    JsonObject delta = head();
    if (!changed.isEmpty()) {
      delta.put("changed", changed);
    }
    return event("delta", removed.isEmpty() ? delta : delta.put("removed", removed));
  }

  /** Returns the event with all entries. */
  Buffer snapshot() {
    Buffer made = snapshot;
    if (made == null) {
      JsonObject all = new JsonObject();
      entries.forEach(all::put);
      made = event("snapshot", head().put("entries", all));
      snapshot = made;
    }
    return made;
  }

  private JsonObject head() {
    return new JsonObject().put("topic", topic).put("seq", number).put("at_ms", atMs);
  }

  /** Returns a server-sent event. JSON has no line breaks, so its data are one line. */
  static Buffer event(String name, JsonObject data) {
    return Buffer.buffer("event: " + name + "\ndata: ")
        .appendBuffer(data.toBuffer())
        .appendString("\n\n");
  }
}

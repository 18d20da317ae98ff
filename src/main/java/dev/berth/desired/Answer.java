package dev.berth.desired;

import io.vertx.core.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * What a command with an id was answered, for when it is sent again.
 *
 * @param id chosen by the one who sent it
 * @param atMs when it was accepted, in milliseconds since 1970
 * @param command digest of what was asked for
 * @param revision that it declared; null when the answer has none
 */
public record Answer(String id, long atMs, String command, @Nullable Long revision) {

  JsonObject toJson() {
    JsonObject json = new JsonObject().put("id", id).put("ms", atMs).put("command", command);
    return json.put("revision", revision);
  }

  static Answer of(JsonObject json) {
    return new Answer(
        json.getString("id"),
        json.getLong("ms"),
        json.getString("command"),
        json.getLong("revision"));
  }
}

package dev.berth.desired;

import io.vertx.core.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * The recorded result of a command with an id, returned when the command is sent again.
 *
 * @param id idempotency key, chosen by the sender
 * @param atMs time of acceptance, in milliseconds since 1970
 * @param command digest of the command
 * @param revision declared by the command; null when the result has none
 */
public record CommandResult(String id, long atMs, String command, @Nullable Long revision) {

  JsonObject toJson() {
    JsonObject json = new JsonObject().put("id", id).put("ms", atMs).put("command", command);
    return json.put("revision", revision);
  }

  static CommandResult of(JsonObject json) {
    return new CommandResult(
        json.getString("id"),
        json.getLong("ms"),
        json.getString("command"),
        json.getLong("revision"));
  }
}

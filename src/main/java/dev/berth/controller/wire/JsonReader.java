package dev.berth.controller.wire;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.DeploymentTarget;
import dev.berth.protocol.json.RecordReader;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the output of a {@link JsonWriter}; errors name the path of a missing or invalid member.
 */
final class JsonReader extends RecordReader {
  private final JsonObject json;
  private final List<DeploymentTarget> targets = new ArrayList<>();

  JsonReader(JsonObject json) {
    this.json = json;
  }

  <M> M message(Class<M> type) {
    JsonArray all = the(JsonWriter.TARGETS, json.getValue(JsonWriter.TARGETS), JsonArray.class);
    for (int i = 0; i < all.size(); i++) {
      String path = JsonWriter.TARGETS + "[" + i + "]";
      targets.add(record(path, all.getValue(i), DeploymentTarget.class));
    }
    return record("", json, type);
  }

  @Override
  protected Object value(String path, @Nullable Object value, Type type, Class<?> of) {
    if (type == DeploymentTarget.class) {
      int place = number(path, value).intValue();
      if (place < 0 || place >= targets.size()) {
        throw wrong(path, place, DeploymentTarget.class);
      }
      return targets.get(place);
    }
    if (type == Settings.class) {
      Map<String, Object> said = the(path, value, JsonObject.class).getMap();
      return of == DeploymentTarget.class
          ? DeploymentConfig.fromMap(said)
          : ApplicationConfig.routeSettingsFromMap(said);
    }
    return super.value(path, value, type, of);
  }
}

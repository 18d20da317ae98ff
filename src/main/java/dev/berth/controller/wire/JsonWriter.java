package dev.berth.controller.wire;

import dev.berth.config.keys.Settings;
import dev.berth.controller.DeploymentTarget;
import dev.berth.protocol.json.RecordWriter;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes one message: its records, with targets as indexes into {@code targets}. */
final class JsonWriter extends RecordWriter {
  static final String TARGETS = "targets";

  /** A target together with its revision, which target equality ignores. */
  private record TargetKey(DeploymentTarget target, long revision) {}

  private final Map<TargetKey, Integer> targets = new LinkedHashMap<>();

  JsonObject message(Record message) {
    JsonObject json = record(message);
    JsonArray all = new JsonArray();
    targets.keySet().forEach(each -> all.add(record(each.target)));
    return json.put(TARGETS, all);
  }

  @Override
  protected @Nullable Object value(@Nullable Object value) {
    if (value instanceof DeploymentTarget target) {
      Integer known = targets.putIfAbsent(new TargetKey(target, target.revision()), targets.size());
      return known == null ? targets.size() - 1 : known;
    }
    return value instanceof Settings settings
        ? new JsonObject(settings.toMap())
        : super.value(value);
  }
}

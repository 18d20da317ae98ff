package dev.berth.node.scaling;

import dev.berth.admin.ServeJson;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import dev.berth.controller.autoscaling.AutoscalingReplay;
import dev.berth.controller.autoscaling.AutoscalingReplay.LoadSample;
import dev.berth.controller.autoscaling.ScalingRules;
import dev.berth.protocol.HandleMetricReport;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Replay of a {@link ScalingRecord} file, and of its preceding file if present, for one deployment:
 * once by the last recorded rules, once by changed rules. Unreadable lines are skipped and counted:
 * a full disk or the end of the process truncates a line. Blocks on the disk.
 */
public final class ScalingReplay {
  /** Prefix of the keys, as in a configuration file. */
  public static final String ENTRY = "applications[0].deployments[0].";

  /**
   * Keys that are not replayed: a policy's code is unavailable, initial replicas apply only to a
   * new deployment, and newer keys replace the smoothing factors.
   */
  private static final List<String> NOT_REPLAYED =
      List.of(
          "policy",
          "initial_replicas",
          "smoothing_factor",
          "upscale_smoothing_factor",
          "downscale_smoothing_factor");

  private static final JsonObject NOTHING =
      ServeJson.of(HandleMetricReport.finalZero(new DeploymentId("any", "any")));

  private final Path file;
  // last rules by deployment id
  private final Map<JsonObject, JsonObject> rules = new LinkedHashMap<>();
  private final List<LoadSample> ticks = new ArrayList<>();
  private final Map<String, JsonObject> known = new LinkedHashMap<>(); // last report by instance
  private int unreadable;

  /** Creates the replay of a file, which {@link #run} reads. */
  public ScalingReplay(Path file) {
    this.file = file;
  }

  /**
   * Returns the recorded course, and the course under changed rules.
   *
   * @param application null for any, where the record has one deployment
   * @param deployment null for any, where the record has one deployment
   * @param changes keys of {@code autoscaling_config}, or keys below {@code berth.autoscaling.}
   * @param start time from the request of a replica until the replica serves
   * @return {@code deployment}, {@code from_ms}, {@code to_ms}, {@code unreadable} lines, and of
   *     {@code recorded} and {@code changed} rules {@code points}, {@code replica_seconds}, {@code
   *     seconds_over_target}, {@code late_request_seconds}
   * @throws dev.berth.config.ConfigException when a change has an invalid key or value
   * @throws IllegalArgumentException when the record has no such deployment, or several
   */
  public JsonObject run(
      @Nullable String application,
      @Nullable String deployment,
      List<Setting> changes,
      Duration start)
      throws IOException {
    read(this::takeRules);
    JsonObject id = only(application, deployment);
    unreadable = 0;
    read(line -> takeBatch(line, id));
    JsonObject both =
        new JsonObject()
            .put("deployment", id)
            .put("from_ms", ticks.isEmpty() ? 0 : ticks.get(0).atMs())
            .put("to_ms", ticks.isEmpty() ? 0 : ticks.get(ticks.size() - 1).atMs())
            .put("unreadable", unreadable);
    return both.put("recorded", outcome(rules.get(id), List.of(), start))
        .put("changed", outcome(rules.get(id), changes, start));
  }

  private JsonObject outcome(JsonObject line, List<Setting> changes, Duration start) {
    long silent = TimeUnit.MILLISECONDS.toNanos(line.getLong("silent_ms"));
    int replicas = line.getInteger("replicas");
    return ServeJson.of(
        AutoscalingReplay.run(ticks, rules(line, changes), silent, start.toNanos(), replicas));
  }

  // --- the file ---

  private void read(Consumer<JsonObject> take) throws IOException {
    Path before = ScalingRecord.before(file);
    for (Path part : Files.exists(before) ? List.of(before, file) : List.of(file)) {
      try (BufferedReader lines =
          new BufferedReader( // a line that is not UTF-8 is unreadable anyway
              new InputStreamReader(Files.newInputStream(part), StandardCharsets.UTF_8))) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          take(line, take);
        }
      }
    }
  }

  private void take(String line, Consumer<JsonObject> take) {
    try {
      if (!line.isBlank()) {
        take.accept(new JsonObject(line));
      }
    } catch (RuntimeException torn) {
      unreadable++;
    }
  }

  private void takeRules(JsonObject line) {
    if (line.getJsonObject("rules") != null) {
      JsonObject id = line.getJsonObject("deployment");
      int first = rules.getOrDefault(id, line).getInteger("replicas");
      rules.put(id, line.put("replicas", first)); // replicas at the begin of the record
    }
  }

  /** Adds a report. A handle that its instance omits is unchanged. */
  private void takeBatch(JsonObject line, JsonObject id) {
    JsonObject batch = line.getJsonObject("batch");
    if (batch == null) {
      return;
    }
    long atMs = line.getLong("at_ms");
    if (!ticks.isEmpty()) { // the wall clock may be set back
      atMs = Math.max(atMs, ticks.get(ticks.size() - 1).atMs());
    }
    String node = batch.getString("node");
    for (Object each : batch.getJsonArray("handles")) {
      JsonObject handle = (JsonObject) each;
      if (id.equals(handle.getJsonObject("deployment"))) {
        known.put(node, handle);
      }
    }
    JsonObject handle = known.getOrDefault(node, NOTHING);
    double load = handle.getDouble("average_load");
    double reserved = handle.getDouble("average_reserved");
    ticks.add(new LoadSample(atMs, node, load, reserved, handle.getBoolean("last")));
  }

  private JsonObject only(@Nullable String application, @Nullable String deployment) {
    List<JsonObject> found =
        rules.keySet().stream()
            .filter(id -> application == null || application.equals(id.getString("application")))
            .filter(id -> deployment == null || deployment.equals(id.getString("name")))
            .toList();
    if (found.size() != 1) {
      throw new IllegalArgumentException(
          "deployment: %s in the record (expected: one, by --app and --deployment, of %s)"
              .formatted(found.size(), rules.keySet()));
    }
    return found.get(0);
  }

  // --- the rules ---

  /** Parses the rules like a configuration file, so that the same values are refused. */
  private static ScalingRules rules(JsonObject line, List<Setting> changes) {
    String name = line.getJsonObject("deployment").getString("name");
    JsonObject config = line.getJsonObject("rules").copy();
    NOT_REPLAYED.forEach(config::remove);
    JsonObject entry =
        new JsonObject()
            .put("name", name)
            .put("autoscaling_config", config)
            .put("berth", new JsonObject().put("autoscaling", line.getJsonObject("berth")));
    String text =
        "{\"applications\": [{\"import_path\": \"a.B\", \"deployments\": ["
            + entry.encode()
            + "]}]}";
    List<Setting> settings = changes.stream().map(ScalingReplay::ofEntry).toList();
    ServeConfig read = ConfigReader.read("the record", Path.of("."), text, settings);
    return ScalingRules.of(
        read.applications().get(0).deployment(Deployment.of(name, context -> null)));
  }

  private static Setting ofEntry(Setting change) {
    String key = change.key();
    String path = ENTRY + (key.startsWith("berth.") ? key : "autoscaling_config." + key);
    return new Setting(change.option(), path, change.value(), change.verbatim());
  }
}

package dev.berth.testkit;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Problem;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What a {@link TestBerth} runs, and how. Settings have the names of the configuration file and
 * override what the code says, as the file does; see docs/configuration.md.
 */
public final class TestBerthBuilder {
  /** The name of an application that is given none, as in the configuration file. */
  public static final String DEFAULT_APPLICATION = "default";

  private static final Duration DEFAULT_PATIENCE = Duration.ofSeconds(5);

  private final Map<String, Application> applications = new LinkedHashMap<>();
  private final Map<String, JsonObject> deployments = new LinkedHashMap<>(); // by name
  private final JsonObject instance = new JsonObject();
  private int eventLoops = 1;
  private long seed = 1;
  private Duration patience = DEFAULT_PATIENCE;
  private boolean unsettledAllowed;

  TestBerthBuilder() {}

  /**
   * One more application.
   *
   * @param name another one for each
   */
  public TestBerthBuilder with(String name, Application application) {
    if (applications.putIfAbsent(name, application) != null) {
      throw new IllegalArgumentException("name: " + name + " (expected: one not yet in use)");
    }
    return this;
  }

  /**
   * Overrides a setting of a deployment.
   *
   * @param deployment its name
   * @param key as in the configuration file, as {@code num_replicas}, {@code max_ongoing_requests},
   *     {@code max_queued_requests}, {@code user_config} or {@code berth.queue_timeout_s}
   * @param value as in the file: a number, text, boolean, Map or List
   * @throws IllegalArgumentException when no application has such a deployment
   */
  public TestBerthBuilder set(String deployment, String key, Object value) {
    if (applications.values().stream().noneMatch(each -> has(each, deployment))) {
      throw new IllegalArgumentException(
          "deployment: " + deployment + " (expected: one of " + names() + ")");
    }
    put(deployments.computeIfAbsent(deployment, name -> new JsonObject()), key, value);
    return this;
  }

  /**
   * Sets a bound of the instance.
   *
   * @param key below {@code berth.limits} in the configuration file, as {@code max_queued_total}
   */
  public TestBerthBuilder setLimit(String key, Object value) {
    put(instance, "limits." + key, value);
    return this;
  }

  /** Event loops that serve, 1 to 1024; default 1. Each has a router and replicas of its own. */
  public TestBerthBuilder eventLoops(int loops) {
    eventLoops = loops;
    return this;
  }

  /** Where all chance comes from: which replica is tried first, whose turn it is; default 1. */
  public TestBerthBuilder seed(long value) {
    seed = value;
    return this;
  }

  /**
   * How long the test waits, in real time, for blocking handlers, hooks and threads of its own;
   * default 5 s. Nothing else takes real time.
   */
  public TestBerthBuilder patience(Duration time) {
    if (time.isNegative() || time.isZero()) {
      throw new IllegalArgumentException("patience: " + time + " (expected: > 0)");
    }
    patience = time;
    return this;
  }

  /** {@link TestBerth#close} then ends what runs still without a complaint. */
  public TestBerthBuilder allowUnsettled() {
    unsettledAllowed = true;
    return this;
  }

  /**
   * Starts the applications' replicas.
   *
   * @throws IllegalArgumentException when a setting is not what it may be; names all that are not
   * @throws IllegalStateException when a replica does not start; the cause is what it threw
   */
  public TestBerth start() {
    put(instance, "event_loops", eventLoops);
    ServeConfig config;
    try {
      config = ConfigReader.read("settings", Path.of(""), text().encodePrettily());
    } catch (ConfigException wrong) {
      throw new IllegalArgumentException(
          wrong.problems().stream()
              .map(Problem::message)
              .collect(Collectors.joining("\n  ", "settings:\n  ", "")),
          wrong);
    }
    TestInstance made = new TestInstance(seed, patience, config.settings());
    return TestBerth.start(new TestApplications(made, config, applications), unsettledAllowed);
  }

  /** What the configuration file would say. */
  private JsonObject text() {
    JsonArray all = new JsonArray();
    applications.forEach(
        (name, application) -> {
          JsonArray own = new JsonArray();
          deployments.forEach(
              (deployment, settings) -> {
                if (has(application, deployment)) {
                  own.add(settings.copy().put("name", deployment));
                }
              });
          all.add(
              new JsonObject()
                  .put("name", name)
                  .put("route_prefix", null)
                  .put("import_path", "none.Built:elsewhere")
                  .put("deployments", own));
        });
    return new JsonObject().put("applications", all).put("berth", instance);
  }

  /** Puts a value at a path of keys. */
  private static void put(JsonObject into, String key, Object value) {
    int dot = key.indexOf('.');
    if (dot < 0) {
      into.put(key, value);
      return;
    }
    Map<String, Object> all = into.getMap();
    Object inner = all.computeIfAbsent(key.substring(0, dot), first -> new JsonObject());
    put((JsonObject) inner, key.substring(dot + 1), value);
  }

  private static boolean has(Application application, String deployment) {
    return application.deployments().stream().anyMatch(each -> each.name().equals(deployment));
  }

  private List<String> names() {
    return applications.values().stream()
        .flatMap(application -> application.deployments().stream())
        .map(Deployment::name)
        .toList();
  }
}

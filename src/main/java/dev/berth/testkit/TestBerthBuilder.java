package dev.berth.testkit;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.ConfigProblem;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Builder of a {@link TestBerth}. Settings have the names of the configuration file, and override
 * the settings of the code as the file does; see docs/configuration.md.
 */
public final class TestBerthBuilder {
  /** Name of an application without a name of its own, as in the configuration file. */
  public static final String DEFAULT_APPLICATION = "default";

  private final Map<String, String> prefixes = new LinkedHashMap<>();
  private final Map<String, Application> applications = new LinkedHashMap<>();
  private final Map<String, JsonObject> deployments = new LinkedHashMap<>(); // by name
  private final JsonObject instance = new JsonObject();
  private int eventLoops = 1;
  private long seed = 1;
  private Duration patience = Duration.ofSeconds(5);
  private boolean unsettledAllowed;

  TestBerthBuilder() {}

  /**
   * Adds an application.
   *
   * @param name unique name of the application
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
   * @param deployment name of the deployment
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
   * Sets the {@code route_prefix} of an application, for {@link TestBerth#http}. By default the
   * first application has {@code /}, and each other one its name.
   */
  public TestBerthBuilder routePrefix(String application, String prefix) {
    prefixes.put(application, prefix);
    return this;
  }

  private String prefix(String application) {
    boolean first = applications.keySet().iterator().next().equals(application);
    return prefixes.getOrDefault(application, first ? "/" : "/" + application);
  }

  /**
   * Sets a limit of the instance.
   *
   * @param key below {@code berth.limits} in the configuration file, as {@code max_queued_total}
   */
  public TestBerthBuilder setLimit(String key, Object value) {
    put(instance, "limits." + key, value);
    return this;
  }

  /**
   * Sets the number of serving event loops, 1 to 1024; default 1. Each has its own router and
   * replicas.
   */
  public TestBerthBuilder eventLoops(int loops) {
    eventLoops = loops;
    return this;
  }

  /**
   * Sets the seed of all random choices: the first replica to try, the next loop to run; default 1.
   */
  public TestBerthBuilder seed(long value) {
    seed = value;
    return this;
  }

  /**
   * Sets the maximum wait, in real time, for blocking handlers, hooks and threads of the
   * application; default 5 s. Nothing else takes real time.
   */
  public TestBerthBuilder patience(Duration time) {
    if (time.isNegative() || time.isZero()) {
      throw new IllegalArgumentException("patience: " + time + " (expected: > 0)");
    }
    patience = time;
    return this;
  }

  /** Lets {@link TestBerth#close} end unsettled work without an error. */
  public TestBerthBuilder allowUnsettled() {
    unsettledAllowed = true;
    return this;
  }

  /**
   * Starts the replicas of the applications.
   *
   * @throws IllegalArgumentException when a setting is invalid; the message names all invalid ones
   * @throws IllegalStateException when a replica does not start; the cause is its error
   */
  public TestBerth start() {
    put(instance, "event_loops", eventLoops);
    ServeConfig config;
    try {
      config = ConfigReader.read("settings", Path.of(""), text().encodePrettily());
    } catch (ConfigException wrong) {
      throw new IllegalArgumentException(
          wrong.problems().stream()
              .map(ConfigProblem::message)
              .collect(Collectors.joining("\n  ", "settings:\n  ", "")),
          wrong);
    }
    TestInstance made = new TestInstance(seed, patience, config.settings());
    return TestBerth.start(new TestApplications(made, config, applications), unsettledAllowed);
  }

  /** Returns the equivalent configuration file. */
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
                  .put("route_prefix", prefix(name))
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

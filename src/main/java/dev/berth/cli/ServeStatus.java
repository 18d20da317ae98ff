package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What an instance says of its applications, {@code GET /api/v1/serve}, as far as it is shown. The
 * server may be of another version, or none of ours: words are taken as they come, and what is
 * missing is empty.
 *
 * @param node the instance
 * @param term of its controller
 * @param targetCapacity percent; null for all
 * @param stateDir null when what is deployed is kept in memory only
 * @param applications in their order
 * @param json all of it
 */
record ServeStatus(
    String node,
    long term,
    @Nullable Double targetCapacity,
    @Nullable String stateDir,
    List<Application> applications,
    JsonObject json) {

  /** The path that gives it. */
  static final String PATH = "/api/v1/serve";

  static final String RUNNING = "RUNNING";
  static final String DEPLOY_FAILED = "DEPLOY_FAILED";
  static final String UNHEALTHY = "UNHEALTHY";
  static final String HEALTHY = "HEALTHY";

  /**
   * One application.
   *
   * @param json as it came
   */
  record Application(
      String name,
      String status,
      String message,
      long revision,
      List<Deployment> deployments,
      JsonObject json) {

    /** Null when there is none of that name. */
    @Nullable Deployment deployment(String name) {
      return deployments.stream().filter(each -> each.name.equals(name)).findFirst().orElse(null);
    }
  }

  /**
   * One deployment.
   *
   * @param target replicas wanted
   * @param running of the wanted version
   * @param others replicas that are not, and how many of each kind: {@code 1 starting, 2 old}
   */
  record Deployment(
      String name,
      String status,
      String message,
      String version,
      long target,
      int running,
      String others) {

    /** {@code 2/3 (1 starting)}. */
    String replicas() {
      return running + "/" + target + (others.isEmpty() ? "" : " (" + others + ")");
    }
  }

  /** Null for what is no such answer. */
  static @Nullable ServeStatus of(@Nullable JsonObject serve) {
    if (serve == null || !(serve.getValue("applications") instanceof JsonArray)) {
      return null;
    }
    return new ServeStatus(
        text(serve, "node"),
        number(serve, "term"),
        serve.getValue("target_capacity") instanceof Number percent ? percent.doubleValue() : null,
        serve.getValue("state_dir") instanceof String folder ? folder : null,
        list(serve, "applications", ServeStatus::application),
        serve);
  }

  /** Null when there is none of that name. */
  @Nullable Application application(String name) {
    return applications.stream().filter(each -> each.name.equals(name)).findFirst().orElse(null);
  }

  /**
   * @param only the one of this name; null for all
   */
  List<Application> shown(@Nullable String only) {
    return applications.stream().filter(each -> only == null || only.equals(each.name)).toList();
  }

  private static Application application(JsonObject application) {
    return new Application(
        text(application, "name"),
        text(application, "status"),
        text(application, "message"),
        number(application, "revision"),
        list(application, "deployments", ServeStatus::deployment),
        application);
  }

  private static Deployment deployment(JsonObject deployment) {
    String version = text(deployment, "version");
    int running = 0;
    TreeMap<String, Integer> others = new TreeMap<>();
    for (JsonObject replica : list(deployment, "replicas", each -> each)) {
      String kind = kind(replica, version);
      if (kind.equals(RUNNING)) {
        running++;
      } else {
        others.merge(kind, 1, Integer::sum);
      }
    }
    return new Deployment(
        text(deployment, "name"),
        text(deployment, "status"),
        text(deployment, "message"),
        version,
        number(deployment, "target_replicas"),
        running,
        String.join(
            ", ",
            others.entrySet().stream()
                .map(each -> each.getValue() + " " + each.getKey())
                .toList()));
  }

  /** {@code RUNNING}, or why it does not count as that, as it is shown. */
  private static String kind(JsonObject replica, String version) {
    String phase = text(replica, "phase");
    if (!phase.equals(RUNNING)) {
      return phase.toLowerCase(Locale.ROOT);
    }
    if (!text(replica, "version").equals(version)) {
      return "old";
    }
    return Boolean.FALSE.equals(replica.getValue("routable")) ? "not routable" : RUNNING;
  }

  static String text(JsonObject object, String key) {
    return object.getValue(key) instanceof String text ? text : "";
  }

  static long number(JsonObject object, String key) {
    return object.getValue(key) instanceof Number number ? number.longValue() : 0;
  }

  private static <T> List<T> list(JsonObject object, String key, Function<JsonObject, T> item) {
    List<T> items = new ArrayList<>();
    if (object.getValue(key) instanceof JsonArray array) {
      for (Object each : array) {
        if (each instanceof JsonObject found) {
          items.add(item.apply(found));
        }
      }
    }
    return items;
  }
}

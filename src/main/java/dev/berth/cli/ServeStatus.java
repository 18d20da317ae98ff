package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Stream;
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
   * @param others replicas that are not, and how many of each kind: {@code 1 starting, 2 of
   *     revision 3}
   * @param revisions of the application that its replicas run
   * @param startingMs how long the one has been starting that has for longest; 0 for none
   * @param autoscaling how the number follows the load; null when it does not
   * @param replicaIds of all of them
   */
  record Deployment(
      String name,
      String status,
      String message,
      String version,
      long target,
      int running,
      String others,
      String revisions,
      long startingMs,
      @Nullable JsonObject autoscaling,
      List<String> replicaIds) {

    /** Why it is not as it should be, and how it autoscales. */
    String remarks() {
      JsonObject scaling = autoscaling;
      if (scaling == null) {
        return message;
      }
      return (message.isEmpty() ? "" : message + "; ")
          + "autoscaling %s..%s, target %s, load %s"
              .formatted(
                  scaling.getValue("min_replicas"),
                  scaling.getValue("max_replicas"),
                  figure(scaling.getValue("target")),
                  figure(scaling.getValue("load")));
    }

    /** {@code 2/3 (1 starting)}. */
    String replicas() {
      return running + "/" + target + (others.isEmpty() ? "" : " (" + others + ")");
    }

    /** The same, with how long the start has taken so far. */
    String replicasNow() {
      long s = startingMs / 1_000;
      return s == 0
          ? replicas()
          : replicas()
              .replace("starting", "starting for " + (s < 120 ? s + " s" : s / 60 + " min"));
    }
  }

  /** As an instance tells it. */
  static ServeStatus of(JsonObject serve) {
    long atMs = number(serve, "at_ms");
    return new ServeStatus(
        text(serve, "node"),
        number(serve, "term"),
        serve.getValue("target_capacity") instanceof Number percent ? percent.doubleValue() : null,
        serve.getValue("state_dir") instanceof String folder ? folder : null,
        list(serve, "applications").stream().map(each -> application(each, atMs)).toList(),
        serve);
  }

  /** The first name of these that nothing has, with what there is; null when there is none. */
  @Nullable String missing(
      List<String> applications, List<String> deployments, List<String> replicas) {
    List<Deployment> of =
        this.applications.stream()
            .filter(each -> applications.isEmpty() || applications.contains(each.name))
            .flatMap(each -> each.deployments.stream())
            .toList();
    Stream<String> ids = of.stream().flatMap(each -> each.replicaIds.stream());
    return Stream.of(
            noSuch("application", applications, this.applications.stream().map(Application::name)),
            noSuch("deployment", deployments, of.stream().map(Deployment::name).distinct()),
            noSuch("replica", replicas, ids))
        .flatMap(Function.identity())
        .findFirst()
        .orElse(null);
  }

  /** What is to be said of each that is asked for and is not there. */
  private static Stream<String> noSuch(String what, List<String> asked, Stream<String> all) {
    List<String> there = all.toList();
    String expected = there.isEmpty() ? "none is there" : "one of " + String.join(", ", there);
    return asked.stream()
        .filter(each -> !there.contains(each))
        .map(each -> "%s: no such %s (expected: %s)".formatted(each, what, expected));
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

  private static Application application(JsonObject application, long atMs) {
    return new Application(
        text(application, "name"),
        text(application, "status"),
        text(application, "message"),
        number(application, "revision"),
        list(application, "deployments").stream().map(each -> deployment(each, atMs)).toList(),
        application);
  }

  private static Deployment deployment(JsonObject deployment, long atMs) {
    String version = text(deployment, "version");
    int running = 0;
    long startedMs = atMs;
    TreeMap<String, Integer> others = new TreeMap<>();
    TreeSet<Long> revisions = new TreeSet<>();
    List<JsonObject> replicas = list(deployment, "replicas");
    for (JsonObject replica : replicas) {
      String kind = kind(replica, version);
      if (kind.equals("starting")) {
        startedMs = Math.min(startedMs, number(replica, "started_ms"));
      } else if (number(replica, "revision") > 0) {
        revisions.add(number(replica, "revision"));
      }
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
            others.entrySet().stream().map(each -> each.getValue() + " " + each.getKey()).toList()),
        String.join(", ", revisions.stream().map(String::valueOf).toList()),
        atMs - startedMs,
        deployment.getValue("autoscaling") instanceof JsonObject scaling ? scaling : null,
        replicas.stream().map(each -> text(each, "replica_id")).toList());
  }

  /** {@code RUNNING}, or why it does not count as that, as it is shown. */
  private static String kind(JsonObject replica, String version) {
    String phase = text(replica, "phase");
    if (!phase.equals(RUNNING)) {
      return phase.toLowerCase(Locale.ROOT);
    }
    if (!text(replica, "version").equals(version)) {
      long revision = number(replica, "revision");
      return revision > 0 ? "of revision " + revision : "old";
    }
    return Boolean.FALSE.equals(replica.getValue("routable")) ? "not routable" : RUNNING;
  }

  static String text(JsonObject object, String key) {
    return object.getValue(key) instanceof String text ? text : "";
  }

  static long number(JsonObject object, String key) {
    return object.getValue(key) instanceof Number number ? number.longValue() : 0;
  }

  /** A number with a digit behind the point, where that is not 0. */
  static String figure(@Nullable Object number) {
    return number instanceof Number figure
        ? String.format(Locale.ROOT, "%.1f", figure.doubleValue()).replaceFirst("\\.0$", "")
        : "";
  }

  static List<JsonObject> list(JsonObject object, String key) {
    return object.getValue(key) instanceof JsonArray all
        ? all.stream().filter(JsonObject.class::isInstance).map(JsonObject.class::cast).toList()
        : List.of();
  }
}

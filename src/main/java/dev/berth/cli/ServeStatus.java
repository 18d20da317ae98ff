package dev.berth.cli;

import dev.berth.view.BatchFill;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Status of an instance's applications, from {@code GET /api/v1/serve}, as far as the commands show
 * it. The server may have another version, or be another program: unknown words are accepted, and
 * missing values are empty.
 *
 * @param node name of the instance
 * @param term term of its controller
 * @param targetCapacity percent; null for all
 * @param stateDir null when the deployed state is in memory only
 * @param applications applications in the order of the response
 * @param json whole response
 */
record ServeStatus(
    String node,
    long term,
    @Nullable Double targetCapacity,
    @Nullable String stateDir,
    List<ReportedApplication> applications,
    JsonObject json) {

  /** Path of the status. */
  static final String PATH = "/api/v1/serve";

  private static final String FILL = "mean_batch_fill_percent";

  static final String RUNNING = "RUNNING";
  static final String DEPLOY_FAILED = "DEPLOY_FAILED";
  static final String UNHEALTHY = "UNHEALTHY";
  static final String HEALTHY = "HEALTHY";

  /**
   * Status of an application.
   *
   * @param json the application's part of the response
   */
  record ReportedApplication(
      String name,
      String status,
      String message,
      long revision,
      List<ReportedDeployment> deployments,
      JsonObject json) {

    /** Returns the deployment of a name; null when there is none. */
    @Nullable ReportedDeployment deployment(String name) {
      return deployments.stream().filter(each -> each.name.equals(name)).findFirst().orElse(null);
    }
  }

  /**
   * Status of a deployment.
   *
   * @param target wanted replicas
   * @param running running replicas of the wanted version
   * @param others number of other replicas of each kind: {@code 1 starting, 2 of revision 3}
   * @param revisions revisions of the application that its replicas run
   * @param startingMs longest duration of a pending replica start; 0 without one
   * @param autoscaling autoscaling state; null without autoscaling
   * @param fill mean fill of its batches in percent; null if unknown
   * @param replicaIds ids of all replicas
   */
  record ReportedDeployment(
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
      @Nullable Object fill,
      List<String> replicaIds) {

    /** Returns the cause of a problem, the autoscaling state, and the fill of batches. */
    String remarks() {
      JsonObject scaling = autoscaling;
      String scaled =
          scaling == null
              ? ""
              : "autoscaling %s..%s, target %s, load %s"
                  .formatted(
                      scaling.getValue("min_replicas"),
                      scaling.getValue("max_replicas"),
                      figure(scaling.getValue("target")),
                      figure(scaling.getValue("load")));
      String filled = fill == null ? "" : "batches " + figure(fill) + " % full";
      return Stream.of(message, scaled, filled)
          .filter(part -> !part.isEmpty())
          .collect(Collectors.joining("; "));
    }

    /** Returns the replica counts, as {@code 2/3 (1 starting)}. */
    String replicas() {
      return running + "/" + target + (others.isEmpty() ? "" : " (" + others + ")");
    }

    /** Returns the replica counts with the duration of the longest pending start. */
    String replicasNow() {
      long s = startingMs / 1_000;
      return s == 0
          ? replicas()
          : replicas()
              .replace("starting", "starting for " + (s < 120 ? s + " s" : s / 60 + " min"));
    }
  }

  /** Returns the status in a response. */
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

  /**
   * Returns a message about the first unknown name, with the known names; null when all are known.
   */
  @Nullable String missing(
      List<String> applications, List<String> deployments, List<String> replicas) {
    List<ReportedDeployment> of =
        this.applications.stream()
            .filter(each -> applications.isEmpty() || applications.contains(each.name))
            .flatMap(each -> each.deployments.stream())
            .toList();
    Stream<String> ids = of.stream().flatMap(each -> each.replicaIds.stream());
    return Stream.of(
            noSuch(
                "application",
                applications,
                this.applications.stream().map(ReportedApplication::name)),
            noSuch("deployment", deployments, of.stream().map(ReportedDeployment::name).distinct()),
            noSuch("replica", replicas, ids))
        .flatMap(Function.identity())
        .findFirst()
        .orElse(null);
  }

  /** Returns a message for each unknown name. */
  private static Stream<String> noSuch(String what, List<String> asked, Stream<String> all) {
    List<String> there = all.toList();
    String expected = there.isEmpty() ? "none exists" : "one of " + String.join(", ", there);
    return asked.stream()
        .filter(each -> !there.contains(each))
        .map(each -> "%s: no such %s (expected: %s)".formatted(each, what, expected));
  }

  /** Returns the application of a name; null when there is none. */
  @Nullable ReportedApplication application(String name) {
    return applications.stream().filter(each -> each.name.equals(name)).findFirst().orElse(null);
  }

  /**
   * Returns the applications to show.
   *
   * @param only name of one application; null for all
   */
  List<ReportedApplication> shown(@Nullable String only) {
    return applications.stream().filter(each -> only == null || only.equals(each.name)).toList();
  }

  /** Returns whether a deployment has batches. */
  boolean hasBatches() {
    return list(json, "applications").stream()
        .flatMap(application -> list(application, "deployments").stream())
        .anyMatch(
            deployment ->
                deployment.getValue("config") instanceof JsonObject config
                    && config.getValue("batching") != null);
  }

  /** Returns the status with the mean fill of the batches of each deployment's replicas. */
  ServeStatus withFill(List<JsonObject> ledgers) {
    JsonObject filled = json.copy();
    for (JsonObject application : list(filled, "applications")) {
      for (JsonObject deployment : list(application, "deployments")) {
        BatchFill fill =
            ledgers.stream()
                .filter(each -> text(each, "application").equals(text(application, "name")))
                .filter(each -> text(each, "deployment").equals(text(deployment, "name")))
                .map(ServeStatus::fill)
                .reduce(BatchFill.NONE, BatchFill::plus);
        if (fill.batches() > 0) {
          deployment.put(FILL, fill.meanPercent());
        }
      }
    }
    return of(filled);
  }

  private static BatchFill fill(JsonObject ledger) {
    long batches = number(ledger, "batches");
    return ledger.getValue(FILL) instanceof Number percent
        ? new BatchFill(batches, batches * percent.doubleValue())
        : BatchFill.NONE;
  }

  private static ReportedApplication application(JsonObject application, long atMs) {
    return new ReportedApplication(
        text(application, "name"),
        text(application, "status"),
        text(application, "message"),
        number(application, "revision"),
        list(application, "deployments").stream().map(each -> deployment(each, atMs)).toList(),
        application);
  }

  private static ReportedDeployment deployment(JsonObject deployment, long atMs) {
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
    return new ReportedDeployment(
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
        deployment.getValue(FILL),
        replicas.stream().map(each -> text(each, "replica_id")).toList());
  }

  /** Returns {@code RUNNING}, or the reason why the replica does not count as running, as shown. */
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

  /** Formats a number with one decimal place, which is omitted if it is 0. */
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

package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Command {@code berth autoscaling}: explains the replica counts of deployments. */
@Command(
    name = "autoscaling",
    header = "Shows how the number of replicas follows the load, and why.",
    description = {
      "Shows for each deployment that autoscales: running and wanted replicas, the load in the"
          + " look-back window, and the target per replica; the rest of the current delay, the age"
          + " of the oldest instance report, and the reason. With DEP, also the last decisions,"
          + " newest first."
    },
    exitCodeList = {
      "0:shown; with --watch, ended by Ctrl-C",
      "1:no such application or deployment, or it does not autoscale"
    },
    footer = {
      "  berth autoscaling echo",
      "  berth autoscaling echo echo --watch",
      "  berth autoscaling echo echo --json | jq '.decisions[0]'",
      "  berth autoscaling replay scaling.jsonl --set target_ongoing_requests=4"
    },
    subcommands = AutoscalingReplayCommand.class)
final class AutoscalingCommand extends AdminCommand {
  private static final int SHOWN = 10; // maximum of decisions

  @Parameters(index = "0", arity = "0..1", paramLabel = "APP", description = "Application name.")
  private @Nullable String application;

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "DEP",
      description = "Name of the deployment. Default: all")
  private @Nullable String deployment;

  @Option(
      names = {"-w", "--watch"},
      description = "Prints a line for each change, until Ctrl-C.")
  private boolean watch;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    String app = application;
    if (app == null) { // optional, since replay has no APP
      throw wrong("Missing required parameter: 'APP'");
    }
    ServeStatus serve = server.status();
    List<String> deployments = deployment == null ? List.of() : List.of(deployment);
    String missing = serve.missing(List.of(app), deployments, List.of());
    Map<String, JsonObject> found = autoscaledDeployments(serve);
    if (found.isEmpty()) {
      String none = app + (deployment == null ? "" : "/" + deployment) + ": does not autoscale";
      throw failure(missing == null ? none + " (expected: one with autoscaling_config)" : missing);
    }
    if (watch) {
      StatusDiff<JsonObject> changes =
          new StatusDiff<>(AutoscalingCommand::state, this::changeLine);
      watch(
          serve,
          true,
          (now, trouble) -> changes.since(autoscaledDeployments(now)).forEach(out::println));
      return;
    }
    JsonObject all = // no decisions without a deployment; each name has a slash
        deployment == null ? new JsonObject(new LinkedHashMap<>(found)) : whole(app, deployment);
    Stream<String> decisions =
        ServeStatus.list(all, "decisions").stream()
            .limit(SHOWN)
            .map(each -> line("", each, "told"));
    show(json, all, () -> Stream.concat(table(found).lines().stream(), decisions).toList());
  }

  /** Returns the autoscaling state of a deployment with its last decisions. */
  private JsonObject whole(String app, String name) throws InterruptedException {
    String path = AdminHttpClient.path("applications", app, "deployments", name, "autoscaling");
    return server.required(server.get(path), "decisions", JsonArray.class);
  }

  /** Returns the requested deployments by name. */
  private Map<String, JsonObject> autoscaledDeployments(ServeStatus serve) {
    Map<String, JsonObject> found = new LinkedHashMap<>();
    for (ServeStatus.ReportedApplication each : serve.shown(application)) {
      for (ServeStatus.ReportedDeployment of : each.deployments()) {
        JsonObject scaling = of.autoscaling();
        if (scaling != null && (deployment == null || deployment.equals(of.name()))) {
          found.put(each.name() + "/" + of.name(), scaling);
        }
      }
    }
    return found;
  }

  private static Table table(Map<String, JsonObject> found) {
    Table table = new Table("deployment|replicas|bounds|load|target|delay left|report age|why");
    found.forEach(
        (name, now) ->
            table.row(
                name,
                now.getValue("running") + "/" + now.getValue("replicas"),
                now.getValue("min_replicas") + ".." + now.getValue("max_replicas"),
                ServeStatus.figure(now.getValue("load")),
                ServeStatus.figure(now.getValue("target")),
                seconds(now.getValue("until_ms"), ServeStatus.number(now, "at_ms")),
                seconds(now.getValue("report_ms"), 0),
                ServeStatus.text(now, "why")));
    return table;
  }

  private static String line(String name, JsonObject of, String what) {
    Instant at = Instant.ofEpochMilli(ServeStatus.number(of, "at_ms"));
    return Table.oneLine(name + " " + at + " " + ServeStatus.text(of, what));
  }

  private static String seconds(@Nullable Object ms, long since) {
    return ms instanceof Number at
        ? ServeStatus.figure(Math.max(0, at.longValue() - since) / 1e3) + " s"
        : "none";
  }

  // --- watch ---

  /** Returns the state whose change prints another line. */
  private static String state(JsonObject now) {
    return now.getValue("running") + "/" + now.getValue("replicas") + now.getValue("reason");
  }

  private String changeLine(String name, @Nullable JsonObject before, JsonObject now) {
    if (json) {
      return AdminHttpClient.printable(now.copy().put("deployment", name).encode());
    }
    boolean decided =
        before != null
            && !Objects.equals(before.getValue("replicas"), now.getValue("replicas"))
            && !Boolean.TRUE.equals(now.getValue("paused"));
    return line(name, now, decided ? "last_change" : "told");
  }
}

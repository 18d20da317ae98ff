package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code berth autoscaling}: why deployments have as many replicas as they have. */
@Command(
    name = "autoscaling",
    header = "Shows how the number of replicas follows the load, and why.",
    description = {
      "Of each deployment that autoscales: the replicas that run and those that are wanted, the"
          + " load in the look-back window and the target for each replica, how long the delay"
          + " that runs still takes, how old the oldest report of an instance is, and why the"
          + " number is what it is. With DEP, the last decisions too, the newest first."
    },
    exitCodeList = {
      "0:shown; with --watch, ended by Ctrl-C",
      "1:there is none of this name, or it does not autoscale",
      "2:wrong usage",
      "3:no admin server answers at the address"
    },
    footer = {
      "  berth autoscaling echo",
      "  berth autoscaling echo echo --watch",
      "  berth autoscaling echo echo --json | jq '.decisions[0]'",
      "  berth autoscaling replay scaling.jsonl --set target_ongoing_requests=4"
    },
    subcommands = AutoscalingReplayCommand.class)
final class AutoscalingCommand extends AdminCommand {
  private static final Duration RHYTHM = Duration.ofMillis(500);
  private static final int SHOWN = 10; // decisions

  @Parameters(index = "0", arity = "0..1", paramLabel = "APP", description = "The application.")
  private @Nullable String application;

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "DEP",
      description = "This deployment only.")
  private @Nullable String deployment;

  @Option(
      names = {"-w", "--watch"},
      description = "Stay, and print a line for each change. Ctrl-C ends it.")
  private boolean watch;

  @Option(
      names = "--json",
      description = "Print what the instance says as JSON; with --watch a line for each change.")
  private boolean json;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    String app = application;
    if (app == null) { // not required: replay has none
      throw wrong("Missing required parameter: 'APP'");
    }
    ServeStatus serve = server.status();
    List<String> deployments = deployment == null ? List.of() : List.of(deployment);
    String missing = serve.missing(List.of(app), deployments, List.of());
    Map<String, JsonObject> found = found(serve);
    if (found.isEmpty()) {
      String none = app + (deployment == null ? "" : "/" + deployment) + ": does not autoscale";
      throw server.failed(
          missing == null ? none + " (expected: one with autoscaling_config)" : missing);
    }
    if (watch) {
      watch(serve, out);
      return;
    }
    JsonObject whole = deployment == null ? null : whole(app, deployment);
    if (json) {
      JsonObject all = whole == null ? new JsonObject(new LinkedHashMap<>(found)) : whole;
      out.println(AdminServer.printable(all.encodePrettily()));
      return;
    }
    table(found).forEach(out::println);
    if (whole != null) {
      whole.getJsonArray("decisions").stream()
          .limit(SHOWN)
          .filter(JsonObject.class::isInstance)
          .forEach(each -> out.println(line("", (JsonObject) each, "told")));
    }
  }

  /** With its last decisions. */
  private JsonObject whole(String app, String name) throws InterruptedException {
    AdminServer.Answer response =
        server.get(
            "/api/v1/applications/%s/deployments/%s/autoscaling"
                .formatted(AdminServer.encoded(app), AdminServer.encoded(name)));
    JsonObject whole = response.with("decisions", JsonArray.class);
    if (whole == null) {
      throw server.refusal(response);
    }
    return whole;
  }

  /** Each that is asked for, by name. */
  private Map<String, JsonObject> found(ServeStatus serve) {
    Map<String, JsonObject> found = new LinkedHashMap<>();
    for (ServeStatus.Application each : serve.shown(application)) {
      for (ServeStatus.Deployment of : each.deployments()) {
        JsonObject scaling = of.autoscaling();
        if (scaling != null && (deployment == null || deployment.equals(of.name()))) {
          found.put(each.name() + "/" + of.name(), scaling);
        }
      }
    }
    return found;
  }

  private static List<String> table(Map<String, JsonObject> found) {
    List<String[]> rows = new ArrayList<>();
    rows.add("deployment,replicas,bounds,load,target,delay left,report age,why".split(",", -1));
    found.forEach(
        (name, now) ->
            rows.add(
                new String[] {
                  name,
                  now.getValue("running") + "/" + now.getValue("replicas"),
                  now.getValue("min_replicas") + ".." + now.getValue("max_replicas"),
                  ServeStatus.figure(now.getValue("load")),
                  ServeStatus.figure(now.getValue("target")),
                  seconds(now.getValue("until_ms"), ServeStatus.number(now, "at_ms")),
                  seconds(now.getValue("report_ms"), 0),
                  ServeStatus.text(now, "why")
                }));
    return StatusTable.aligned(rows);
  }

  private static String line(String name, JsonObject of, String what) {
    Instant at = Instant.ofEpochMilli(ServeStatus.number(of, "at_ms"));
    return StatusTable.oneLine(name + " " + at + " " + ServeStatus.text(of, what));
  }

  private static String seconds(@Nullable Object ms, long since) {
    return ms instanceof Number at
        ? ServeStatus.figure(Math.max(0, at.longValue() - since) / 1e3) + " s"
        : "none";
  }

  // --- watch ---

  private void watch(ServeStatus serve, PrintWriter out) throws InterruptedException {
    CompletionStage<String> stop = around().stopSignal().get();
    StatusCommand.Look look = new StatusCommand.Look(serve, "");
    Map<String, JsonObject> last = Map.of();
    String trouble = "";
    do {
      if (!look.trouble().equals(trouble)) {
        trouble = look.trouble();
        server.say(trouble.isEmpty() ? "it answers again" : trouble);
      }
      Map<String, JsonObject> now = found(look.serve());
      last.keySet().stream()
          .filter(name -> !now.containsKey(name))
          .forEach(name -> out.println(StatusTable.oneLine(name + ": gone")));
      for (Map.Entry<String, JsonObject> each : now.entrySet()) {
        JsonObject before = last.get(each.getKey());
        if (before == null || !state(before).equals(state(each.getValue()))) {
          out.println(changed(each.getKey(), before, each.getValue()));
        }
      }
      out.flush();
      last = now;
    } while (!around().pause().until(stop, RHYTHM)
        && (look = StatusCommand.again(server, look)) != null);
  }

  /** What another line is printed for. */
  private static String state(JsonObject now) {
    return now.getValue("running") + "/" + now.getValue("replicas") + now.getValue("reason");
  }

  private String changed(String name, @Nullable JsonObject before, JsonObject now) {
    if (json) {
      return AdminServer.printable(now.copy().put("deployment", name).encode());
    }
    boolean decided =
        before != null
            && !Objects.equals(before.getValue("replicas"), now.getValue("replicas"))
            && !Boolean.TRUE.equals(now.getValue("paused"));
    return line(name, now, decided ? "last_change" : "told");
  }
}

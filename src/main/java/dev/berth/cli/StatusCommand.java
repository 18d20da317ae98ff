package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Command {@code berth status}: shows the state of applications against their declaration. */
@Command(
    name = "status",
    header = "Shows applications, their deployments and replicas.",
    description = {
      "The replicas column counts routable replicas of the current version; in brackets, those that"
          + " are starting, with the time, draining, or of an earlier version. An application shows"
          + " its current revision, a deployment the revision of its replicas. The last column"
          + " gives the reason for any other state than healthy, and the mean fill of batches since"
          + " the replicas started, in percent of max_batch_size."
    },
    exitCodeList = {"0:shown; with --watch, ended by Ctrl-C", "1:no such application"},
    footer = {
      "  berth status",
      "  berth status echo --watch",
      "  berth status --json | jq -r '.applications[] | .name + \" \" + .status'"
    })
final class StatusCommand extends AdminCommand {
  @Parameters(paramLabel = "APP", arity = "0..1", description = "Application name. Default: all")
  private @Nullable String only;

  @Option(
      names = {"-w", "--watch"},
      description =
          "Redraws the table twice a second on a terminal; otherwise prints a line for each change."
              + " Ctrl-C ends it.")
  private boolean watch;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    List<String> named = only == null || watch ? List.of() : List.of(only); // may appear later
    ServeStatus serve = withFill(server.status(named, List.of(), List.of()));
    if (watch) {
      watch(serve, out);
    } else {
      show(json, chosen(serve), () -> table(serve));
    }
  }

  /** Returns the status with the fill of batches, which the ledgers of all nodes hold. */
  private ServeStatus withFill(ServeStatus serve) {
    if (!serve.hasBatches()) {
      return serve;
    }
    try {
      JsonObject ledger = server.look("/api/v1/ledger").with("replicas", JsonArray.class);
      return ledger == null ? serve : serve.withFill(ServeStatus.list(ledger, "replicas"));
    } catch (IOException unreachable) { // reported with the next status
      return serve;
    }
  }

  private List<String> table(ServeStatus serve) {
    List<String> lines = new ArrayList<>();
    lines.add(StatusTable.headline(serve));
    lines.addAll(StatusTable.blocked(serve));
    List<ServeStatus.ReportedApplication> shown = serve.shown(only);
    if (shown.isEmpty()) {
      lines.add(only == null ? "No application is deployed." : only + ": not deployed.");
    } else {
      lines.addAll(new StatusTable(around().colours()).lines(shown));
    }
    return lines;
  }

  /** Returns the whole status, or the status with the one requested application. */
  private JsonObject chosen(ServeStatus serve) {
    List<JsonObject> shown =
        serve.shown(only).stream().map(ServeStatus.ReportedApplication::json).toList();
    return only == null
        ? serve.json()
        : serve.json().copy().put("applications", new JsonArray(shown));
  }

  private static JsonObject timeless(JsonObject serve) {
    JsonObject copy = new JsonObject(new LinkedHashMap<>(serve.getMap()));
    copy.remove("at_ms");
    return copy;
  }

  private void watch(ServeStatus serve, PrintWriter out) throws InterruptedException {
    StatusDisplay display = new StatusDisplay(around(), out);
    StatusDiff<JsonObject> changes =
        new StatusDiff<>(
            StatusCommand::timeless,
            (name, before, now) -> AdminHttpClient.printable(now.encode()));
    watch(
        serve,
        !around().terminal(),
        (next, trouble) -> {
          ServeStatus now = next == serve ? serve : withFill(next);
          if (json) {
            changes.since(Map.of("", chosen(now))).forEach(out::println);
            return;
          }
          List<String> lines = table(now);
          if (!trouble.isEmpty()) {
            lines.add(trouble);
          }
          display.show(lines, now.shown(only));
        });
  }
}

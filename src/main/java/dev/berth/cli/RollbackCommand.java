package dev.berth.cli;

import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Command {@code berth rollback}: declares an application's last healthy revision again. */
@Command(
    name = "rollback",
    header = "Rolls an application back to its last healthy revision.",
    description = {
      "Without --to, selects the last revision that ran and differs from the current one; berth"
          + " history shows them. The rollback gets a revision number of its own. As in any deploy,"
          + " replicas of the earlier version replace those of the current one. berth config then"
          + " prints the earlier configuration."
    },
    exitCodeList = {
      "0:accepted; with --wait, the application runs",
      "1:no earlier revision; or with --wait: the application failed, and the cause is shown",
      "4:with --wait: it does not run in time; the instance continues"
    },
    footer = {
      "  berth rollback echo",
      "  berth rollback echo --to 3 --wait",
      "  berth rollback echo --dry-run"
    })
final class RollbackCommand extends MutatingCommand {
  @Parameters(paramLabel = "APP", description = "Name of the application.")
  private String application;

  @Option(
      names = "--to",
      paramLabel = "REVISION",
      description = "Number of an earlier revision, from berth history.")
  private @Nullable Long to;

  @Option(names = "--dry-run", description = "Shows the revision to be selected; changes nothing.")
  private boolean dryRun;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    if (to != null && to < 1) {
      throw wrong("--to: " + to + " (expected: a revision number from berth history)");
    }
    String query = (to == null ? "" : "&to=" + to) + (dryRun ? "&dry_run=true" : "");
    String path = AdminHttpClient.path("applications", application, "rollback");
    AdminHttpClient.AdminHttpReply response =
        server.send("POST", path + query.replaceFirst("&", "?"), null);
    String key = dryRun ? "to" : "revision";
    JsonObject answer = response.with(key, Number.class);
    if (answer == null) {
      throw server.refusalOf(response, application, List.of());
    }
    Long revision = answer.getLong(key);
    JsonObject change = new JsonObject().put("application", application).put(key, revision);
    if (dryRun) {
      String told = application + ": would roll back to revision " + revision;
      show(json, change.put("outcome", "dry_run"), () -> List.of(told));
      return;
    }
    if (!json) {
      out.println(application + ": rolls back, as revision " + revision);
    }
    finish(new WaitCondition.RunningCondition(Map.of(application, revision)), change, out);
  }
}

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
    header = "Declares an application again as it ran healthy before now.",
    description = {
      "Without --to it is the last revision that ran and says something else than the one that is"
          + " wanted now; berth history shows them. It gets a number of its own. Replicas of the"
          + " version that is wanted now give way to those of the earlier one as in any other"
          + " deploy, and what was deployed is what berth config then prints."
    },
    exitCodeList = {
      "0:accepted; with --wait, the application runs",
      "1:nothing to go back to, or with --wait, it did not come to run; the cause is said",
      "4:with --wait, it does not run in time; the instance goes on"
    },
    footer = {
      "  berth rollback echo",
      "  berth rollback echo --to 3 --wait",
      "  berth rollback echo --dry-run"
    })
final class RollbackCommand extends ChangeCommand {
  @Parameters(paramLabel = "APP", description = "The application.")
  private String application;

  @Option(
      names = "--to",
      paramLabel = "REVISION",
      description = "A revision that ran earlier, as berth history shows them.")
  private @Nullable Long to;

  @Option(names = "--dry-run", description = "Say which revision it would be, and change nothing.")
  private boolean dryRun;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    if (to != null && to < 1) {
      throw wrong("--to: " + to + " (expected: a revision, as berth history shows them)");
    }
    String query = (to == null ? "" : "&to=" + to) + (dryRun ? "&dry_run=true" : "");
    String path = AdminServer.path("applications", application, "rollback");
    AdminServer.Answer response = server.send("POST", path + query.replaceFirst("&", "?"), null);
    String key = dryRun ? "to" : "revision";
    JsonObject answer = response.with(key, Number.class);
    if (answer == null) {
      throw server.refusalOf(response, application, List.of());
    }
    Long revision = answer.getLong(key);
    JsonObject change = new JsonObject().put("application", application).put(key, revision);
    if (dryRun) {
      String told = application + ": would go back to revision " + revision;
      show(json, change.put("outcome", "dry_run"), () -> List.of(told));
      return;
    }
    if (!json) {
      out.println(application + ": goes back, as revision " + revision);
    }
    finish(new Goal.Running(Map.of(application, revision)), change, out);
  }
}

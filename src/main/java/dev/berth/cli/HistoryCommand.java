package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Command {@code berth history}: shows the wanted revision and the earlier ones. */
@Command(
    name = "history",
    header = "Shows the revisions of an application that rollback accepts.",
    description = {
      "The first line is the current revision; the others ran earlier, newest first, at most"
          + " berth.revision_history_limit. Revisions with one digest have the same configuration"
          + " and jar contents. berth rollback APP --to REVISION declares one of them again."
    },
    exitCodeList = {"0:shown", "1:no such application"},
    footer = {"  berth history echo", "  berth history echo --json | jq '.revisions[1].config'"})
final class HistoryCommand extends AdminCommand {
  @Parameters(paramLabel = "APP", description = "Name of the application.")
  private String application;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    AdminHttpClient.AdminHttpReply response =
        server.get(AdminHttpClient.path("applications", application, "history"));
    JsonObject answer = response.with("revisions", JsonArray.class);
    if (answer == null) {
      throw server.refusalOf(response, application, List.of());
    }
    Table table = new Table("revision|deployed|state|digest|message");
    for (JsonObject each : ServeStatus.list(answer, "revisions")) {
      String deployed = time(each.getValue("deployed_ms"));
      String state = String.valueOf(each.getValue("state")).toLowerCase(Locale.ROOT);
      String digest = String.valueOf(each.getValue("digest")).replaceAll("(?<=.{12}).*", "");
      table.row(each.getValue("revision"), deployed, state, digest, each.getValue("message"));
    }
    show(json, answer, table::lines);
  }

  private static String time(@Nullable Object millis) {
    return millis instanceof Number at && at.longValue() > 0
        ? Instant.ofEpochMilli(at.longValue()).truncatedTo(ChronoUnit.SECONDS).toString()
        : "";
  }
}

package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code berth history}: the revision that is wanted, and those that ran earlier. */
@Command(
    name = "history",
    header = "Shows the revisions of an application that can be gone back to.",
    description = {
      "The first line is what is wanted now, the others ran earlier, the newest first: the last"
          + " berth.revision_history_limit of them. Lines with one digest say the same, with jars"
          + " that hold the same. berth rollback APP --to REVISION declares one of them again."
    },
    exitCodeList = {
      "0:shown",
      "1:there is no application of this name",
      "2:wrong usage",
      "3:no admin server answers at the address"
    },
    footer = {"  berth history echo", "  berth history echo --json | jq '.revisions[1].config'"})
final class HistoryCommand extends AdminCommand {
  @Parameters(paramLabel = "APP", description = "The application.")
  private String application;

  @Option(names = "--json", description = "Print the revisions whole, as JSON.")
  private boolean json;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    AdminServer.Answer response =
        server.get("/api/v1/applications/" + AdminServer.encoded(application) + "/history");
    JsonObject answer = response.with("revisions", JsonArray.class);
    if (answer == null) {
      throw server.refusalOf(response, application, List.of());
    }
    if (json) {
      out.println(AdminServer.printable(answer.encodePrettily()));
      return;
    }
    List<String[]> rows = new ArrayList<>();
    rows.add(new String[] {"revision", "deployed", "state", "digest", "message"});
    rows.addAll(ServeStatus.list(answer, "revisions", HistoryCommand::row));
    StatusTable.aligned(rows).forEach(out::println);
  }

  private static String[] row(JsonObject revision) {
    return new String[] {
      String.valueOf(revision.getValue("revision")),
      time(revision.getValue("deployed_ms")),
      String.valueOf(revision.getValue("state")).toLowerCase(Locale.ROOT),
      String.valueOf(revision.getValue("digest")).replaceAll("(?<=.{12}).*", ""),
      String.valueOf(revision.getValue("message"))
    };
  }

  private static String time(@Nullable Object millis) {
    return millis instanceof Number at && at.longValue() > 0
        ? Instant.ofEpochMilli(at.longValue()).truncatedTo(ChronoUnit.SECONDS).toString()
        : "";
  }
}

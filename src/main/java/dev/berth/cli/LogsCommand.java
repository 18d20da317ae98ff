package dev.berth.cli;

import dev.berth.cli.log.TextLines;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Command {@code berth logs}: shows the last lines of an instance's log, and follows new ones. */
@Command(
    name = "logs",
    header = "Shows the last lines of the log of an instance.",
    description = {
      "Includes lines of Berth and of handlers, not the access log. The last berth.log_ring.lines"
          + " are stored. A reader that is too slow gets the number of missed lines."
    },
    exitCodeList = {
      "0:shown; with --follow, ended by Ctrl-C",
      "1:no such application, deployment or replica",
      "3:no admin server answers at the address, or with --follow, it stopped answering"
    },
    footer = {
      "  berth logs",
      "  berth logs --app classify --deployment digits -f",
      "  berth logs --app echo --level warn -n 1000",
      "  berth logs --node n2 -f",
      "  berth logs -f --json | jq -r .fields.reason"
    })
final class LogsCommand extends AdminCommand {
  private static final int MAX_LINES_PER_REQUEST = 1_000;

  @Mixin private ReplicaFilter filter = new ReplicaFilter();

  @Option(
      names = "--level",
      paramLabel = "LEVEL",
      description = "Minimum level: trace, debug, info, warn or error.")
  private @Nullable String level;

  @Option(
      names = {"-f", "--follow"},
      description =
          "Shows new lines as they are logged, until Ctrl-C; in a cluster, those of one --node.")
  private boolean follow;

  @Option(
      names = {"-n", "--lines"},
      paramLabel = "N",
      description = "Number of last lines, 1 to 10000. Default: ${DEFAULT-VALUE}")
  private int lines = 100;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    if (lines < 1 || lines > 10_000) {
      throw wrong("-n: " + lines + " (expected: an integer from 1 to 10000)");
    }
    CompletionStage<String> stop = follow ? around().stopSignal().get() : null;
    TextLines form = new TextLines(TextLines.LogLineForm.FILE);
    String began = "";
    long since = -1; // requests the last lines
    for (; ; ) {
      AdminHttpClient.AdminHttpReply response = server.get("/api/v1/logs" + query(since));
      JsonObject page = response.with("lines", JsonArray.class);
      if (page == null) {
        throw server.refuse(response);
      }
      if (follow && page.containsKey("nodes")) {
        throw wrong("--follow: of several nodes (expected: --node NAME too)");
      }
      server.sayUnreachable(page);
      JsonArray found = page.getJsonArray("lines");
      if (since < 0) {
        requireNames(found);
      }
      String ring = String.valueOf(page.getValue("began"));
      if (since >= 0 && !ring.equals(began)) {
        server.say("the instance was restarted");
        since = 0;
        began = ring;
        continue; // line numbers start at 0 again
      }
      began = ring;
      if (page.getValue("lost") instanceof Number lost && since >= 0 && lost.longValue() > 0) {
        server.say(lost + " lines were missed: no longer stored");
      }
      found.forEach(line -> print(line, form, out));
      out.flush();
      since = page.getValue("next") instanceof Number next ? next.longValue() : since;
      boolean more = since >= 0 && found.size() == MAX_LINES_PER_REQUEST && follow;
      if (stop == null || (!more && around().pause().until(stop, RHYTHM))) {
        return;
      }
    }
  }

  /**
   * Requires that the instance has each name without a line; removed parts may still have lines.
   */
  private void requireNames(JsonArray found) throws InterruptedException {
    String lines = found.encode();
    List<List<String>> names =
        Stream.of(filter.applications, filter.deployments, filter.replicas)
            .map(each -> each.stream().filter(name -> !lines.contains(name)).toList())
            .toList();
    if (!names.stream().allMatch(List::isEmpty)) {
      server.status(names.get(0), names.get(1), names.get(2));
    }
  }

  private String query(long since) {
    return (since < 0 ? "?limit=" + lines : "?limit=" + MAX_LINES_PER_REQUEST + "&since=" + since)
        + filter.parameters()
        + AdminHttpClient.parameters("level", level == null ? List.of() : List.of(level));
  }

  private void print(Object each, TextLines form, PrintWriter out) {
    if (!(each instanceof JsonObject line)) {
      return;
    }
    if (json) {
      out.println(AdminHttpClient.printable(line.encode()));
      return;
    }
    StringBuilder text = new StringBuilder();
    String node = ServeStatus.text(line, "node"); // set in responses of several nodes
    String of = (node + " " + ServeStatus.text(line, "logger")).stripLeading();
    form.head(text, ServeStatus.text(line, "time"), ServeStatus.text(line, "level"), of);
    String message = ServeStatus.text(line, "message");
    text.append(message);
    if (line.getValue("fields") instanceof JsonObject fields) {
      TextLines.pairs(text, message, fields.getMap());
    }
    String exception = ServeStatus.text(line, "exception");
    if (!exception.isEmpty()) {
      text.append('\n').append(exception.stripTrailing());
    }
    out.println(AdminHttpClient.printable(text.toString().replace("\t", "    ")));
  }
}

package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Command {@code berth traffic}: shows and sets the split of routes among deployments. */
@Command(
    name = "traffic",
    header = "Shows or sets how the requests of a route are split among deployments.",
    description = {
      "Weights replace the route's berth.traffic at once, without a restart. For an application"
          + " this is a new revision, which berth rollback can undo. Requests that wait are not"
          + " moved. Deployments of an endpoint are named APP#DEPLOYMENT."
    },
    exitCodeList = {"0:shown, or accepted", "1:no such route"},
    footer = {
      "  berth traffic",
      "  berth traffic /digits",
      "  berth traffic /digits v1=90 v2=10",
      "  berth traffic /digits --explain 'header=x-canary: 1' --explain method=PUT"
    })
final class TrafficCommand extends AdminCommand {
  @Parameters(index = "0", arity = "0..1", paramLabel = "ROUTE", description = "Route path prefix.")
  private @Nullable String route;

  @Parameters(
      index = "1..*",
      paramLabel = "DEPLOYMENT=WEIGHT",
      description = "Weights of the complete new split.")
  private Map<String, Double> weights = new LinkedHashMap<>();

  @Option(
      names = "--explain",
      paramLabel = "PART",
      description = {
        "Shows the target of a request and the reason: header=NAME: VALUE, cookie=NAME=VALUE,"
            + " query=NAME=VALUE, method=M or path=P; repeatable."
      })
  private List<String> explain = List.of();

  @Override
  void run(PrintWriter out) throws InterruptedException {
    if (route == null && !explain.isEmpty()) {
      throw wrong("--explain: no ROUTE (expected: ROUTE before it)");
    }
    if (!weights.isEmpty() && !explain.isEmpty()) {
      throw wrong("--explain: beside " + weights + " (expected: only one of them)");
    }
    String query = route == null ? "" : "?route=" + AdminHttpClient.encoded(route);
    if (!explain.isEmpty()) {
      explain(query);
    } else if (weights.isEmpty()) {
      show(query);
    } else {
      split(query);
    }
  }

  private void explain(String query) throws InterruptedException {
    StringBuilder asked = new StringBuilder(query);
    for (String part : explain) {
      String[] said = part.split("=", 2);
      if (said.length < 2 || said[0].isEmpty()) {
        throw wrong("--explain: " + part + " (expected: header=NAME: VALUE, cookie=NAME=VALUE, …)");
      }
      asked.append(AdminHttpClient.parameters(AdminHttpClient.encoded(said[0]), List.of(said[1])));
    }
    JsonObject answer =
        server.required(server.get("/api/v1/traffic/explain" + asked), "why", String.class);
    show(json, answer, () -> List.of(answer.getString("why")));
  }

  private void split(String query) throws InterruptedException {
    JsonObject wanted = new JsonObject().put("weights", new JsonObject(Map.copyOf(weights)));
    AdminHttpClient.AdminHttpReply response =
        server.send("PUT", "/api/v1/traffic" + query, wanted.encode());
    JsonObject answer = server.required(response, "revision", Number.class);
    String accepted = route + ": " + weights + ", revision " + answer.getValue("revision");
    show(json, answer, () -> List.of(accepted));
  }

  private void show(String query) throws InterruptedException {
    JsonObject answer =
        server.required(server.get("/api/v1/traffic" + query), "routes", JsonArray.class);
    show(json, answer, () -> table(answer).lines());
  }

  private static Table table(JsonObject answer) {
    Table table = new Table("route|deployment|share|requests|errors|p50 ms|p99 ms|");
    ServeStatus.list(answer, "routes").forEach(each -> rows(each, table));
    return table;
  }

  private static void rows(JsonObject of, Table table) {
    List<JsonObject> sides = ServeStatus.list(of, "traffic");
    double all = sides.stream().mapToDouble(side -> side.getDouble("weight", 1.0)).sum();
    String prefix = of.getString("route");
    if (sides.isEmpty()) {
      table.row(prefix, "", "", "", "", "", "", "no deployment yet: requests wait");
    }
    for (JsonObject match : ServeStatus.list(of, "match")) {
      table.row(prefix, name(match), "", "", "", "", "", "match: " + part(match));
    }
    for (JsonObject side : sides) {
      String share = percent(100 * side.getDouble("weight", 1.0) / all);
      Object requests = side.getValue("requests", "");
      Object errors = side.getValue("errors", "");
      Object p50 = side.getValue("p50_ms", "");
      table.row(prefix, name(side), share, requests, errors, p50, side.getValue("p99_ms", ""), "");
    }
    for (JsonObject shadow : ServeStatus.list(of, "shadow")) {
      String share = percent(100 * shadow.getDouble("fraction"));
      Object copied = shadow.getValue("copied");
      long skipped = shadow.getLong("skipped_busy") + shadow.getLong("skipped_body");
      String told =
          "shadow: %s skipped, status %s alike, %s not"
              .formatted(skipped, shadow.getValue("status_same"), shadow.getValue("status_other"));
      table.row(prefix, name(shadow), share, copied, shadow.getValue("failed"), "", "", told);
    }
  }

  private static String percent(double percent) {
    return "%.1f %%".formatted(percent);
  }

  private static String name(JsonObject of) {
    return of.getString("application") + "#" + of.getString("deployment");
  }

  private static String part(JsonObject match) {
    for (String part : List.of("header", "cookie", "query", "method")) {
      if (match.containsKey(part)) {
        return (part + " " + match.getString(part)).strip() + " " + match.getString("is");
      }
    }
    return "";
  }
}

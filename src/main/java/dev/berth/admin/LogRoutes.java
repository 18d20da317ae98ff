package dev.berth.admin;

import dev.berth.protocol.LogLine;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.time.Instant;
import java.util.List;
import java.util.Locale;

/**
 * {@code GET /api/v1/logs}: the last lines of the instance's log. {@code ?since=} asks for those
 * after the line of that number: {@code next} of the answer before it; {@code lost} says how many
 * of them are kept no more. {@code began} is another one when the instance was started anew, and
 * numbers begin at 1 then. {@code ?application=}, {@code ?deployment=} and {@code ?replica=}, each
 * also several times, and {@code ?level=}, the least severe, choose among them.
 */
public final class LogRoutes implements AdminRoutes {
  private static final List<String> PARAMETERS =
      List.of("since", "limit", "application", "deployment", "replica", "level");
  private static final int LIMIT = 200;
  private static final int MAX_LIMIT = 10_000;

  private final LogRing ring;

  public LogRoutes(LogRing ring) {
    this.ring = ring;
  }

  @Override
  public void mount(Router router) {
    router.get("/api/v1/logs").handler(this::logs);
  }

  private void logs(RoutingContext context) {
    if (QueryParameters.hasUnknown(context, PARAMETERS)) {
      return;
    }
    MultiMap query = context.queryParams();
    long since = QueryParameters.number(context, "since", 0, Long.MAX_VALUE, -1);
    int most = (int) QueryParameters.number(context, "limit", 1, MAX_LIMIT, LIMIT);
    String least = LogFilter.LEVELS.get(0);
    String level = query.contains("level") ? query.get("level").toUpperCase(Locale.ROOT) : least;
    if (!LogFilter.LEVELS.contains(level)) {
      QueryParameters.refuse(context, "level", "one of " + String.join(", ", LogFilter.LEVELS));
    }
    if (context.response().ended()) {
      return;
    }
    LogFilter wanted =
        new LogFilter(
            query.getAll("application"),
            query.getAll("deployment"),
            query.getAll("replica"),
            level);
    context
        .vertx()
        .executeBlocking(
            () -> json(since < 0 ? ring.last(most, wanted) : ring.after(since, most, wanted)),
            false)
        .onComplete(
            text ->
                context
                    .response()
                    .putHeader(HttpHeaders.CONTENT_TYPE, "application/json")
                    .putHeader("x-content-type-options", "nosniff")
                    .end(text),
            context::fail);
  }

  private String json(LogRing.Page page) {
    JsonArray lines = new JsonArray();
    page.lines().forEach(each -> lines.add(json(each)));
    return new JsonObject()
            .put("began", ring.began().toString())
            .put("lines", lines)
            .put("next", page.next())
            .put("lost", page.lost())
            .encode()
        + "\n";
  }

  private static JsonObject json(LogRing.Kept kept) {
    LogLine line = kept.line();
    JsonObject fields = new JsonObject();
    line.fields().forEach(fields::put);
    JsonObject json =
        new JsonObject()
            .put("number", kept.number())
            .put("time", Instant.ofEpochMilli(line.atMs()).toString())
            .put("level", line.level())
            .put("logger", line.logger())
            .put("thread", line.thread())
            .put("message", line.message())
            .put("fields", fields);
    return line.exception() == null ? json : json.put("exception", line.exception());
  }
}

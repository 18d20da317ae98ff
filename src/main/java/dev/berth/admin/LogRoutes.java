package dev.berth.admin;

import io.vertx.core.MultiMap;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.time.Instant;
import java.util.List;

/**
 * Serves {@code GET /api/v1/logs}: the last lines of the instance's log. {@code ?since=} selects
 * the lines after that number, which is {@code next} of the previous response. {@code lost} is the
 * number of them that were removed. {@code began} changes when the instance restarts, after which
 * numbers begin at 1.
 *
 * <p>{@code ?application=}, {@code ?deployment=} and {@code ?replica=}, each repeatable, and {@code
 * ?level=}, the lowest level, select among them.
 */
public record LogRoutes(LogRing ring) implements AdminRoutes {
  /** Values of {@code level}. */
  public static final List<String> LEVELS = LogFilter.LEVELS;

  private static final int LIMIT = 200;
  private static final int MAX_LIMIT = 10_000;

  @Override
  public void mount(Router router) {
    router.get("/api/v1/logs").handler(this::logs);
  }

  private void logs(RoutingContext context) {
    QueryParameters query =
        QueryParameters.of(
            context, false, "since", "limit", "application", "deployment", "replica", "level");
    Long since = query.number("since", 0, Long.MAX_VALUE);
    int most = query.count("limit", MAX_LIMIT, LIMIT);
    LogFilter wanted = filter(query);
    AdminResponses.read(
        context,
        AdminResponses.JSON,
        () -> {
          LogRing.LogPage page =
              since == null ? ring.last(most, wanted) : ring.after(since, most, wanted);
          return json(page).encode() + "\n";
        });
  }

  private static LogFilter filter(QueryParameters query) {
    String level = query.word("level", LogFilter.LEVELS);
    return new LogFilter(
        query.all("application"),
        query.all("deployment"),
        query.all("replica"),
        level == null ? LogFilter.LEVELS.get(0) : level);
  }

  /** Returns the response to these query parameters, without {@code since}. Thread-safe. */
  public JsonObject read(MultiMap given) {
    QueryParameters query = new QueryParameters(given, false);
    return json(ring.last(query.count("limit", MAX_LIMIT, LIMIT), filter(query)));
  }

  private JsonObject json(LogRing.LogPage page) {
    return new JsonObject()
        .put("began", ring.began.toString())
        .put("lines", AdminResponses.array(page.lines(), LogRoutes::json))
        .put("next", page.next())
        .put("lost", page.lost());
  }

  private static JsonObject json(LogRing.NumberedLogLine kept) {
    JsonObject json =
        new JsonObject()
            .put("number", kept.number())
            .put("time", Instant.ofEpochMilli(kept.line().atMs()).toString())
            .mergeIn(ServeJson.of(kept.line()));
    json.remove("at_ms");
    if (kept.line().exception() == null) {
      json.remove("exception");
    }
    return json;
  }
}

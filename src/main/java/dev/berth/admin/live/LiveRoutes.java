package dev.berth.admin.live;

import dev.berth.admin.AdminRefusal;
import dev.berth.admin.AdminResponses;
import dev.berth.admin.AdminRoutes;
import dev.berth.admin.LogRoutes;
import dev.berth.admin.QueryParameters;
import dev.berth.api.DeploymentId;
import dev.berth.metrics.Meters;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Routes of the live feed and of the history. On a worker that has a controller, the request goes
 * on to the route that forwards it.
 *
 * <pre>
 *   GET /api/v1/live?topics=T,…[&amp;level=…][&amp;application=…]…   200, server-sent events; 400, 503
 *   GET /api/v1/history[?deployment=A%23D|?node=N][&amp;range=hour|day]   200, 404, 503
 * </pre>
 */
public final class LiveRoutes implements AdminRoutes {
  /** Maximum number of topics of a viewer. */
  private static final int MAX_TOPICS = 8;

  /** Maximum number of viewers that one node forwards: half of its forwarded requests. */
  static final int MAX_FORWARDED = 8;

  /** Maximum number of curves that are read or sent: each is JSON of up to 300 KB. */
  static final int MAX_CURVES = 8;

  private static final int MAX_TOPIC_CHARS = 600;
  private static final List<String> FILTERS =
      List.of("level", "application", "deployment", "replica");

  private final LiveState state;
  private final FigureHistory history;
  private final int maxViewers;
  private final LongSupplier nanoClock;
  private final LongSupplier wallMs;
  private @Nullable LiveFeed feed; // created at the mount
  private @Nullable Vertx vertx; // of the first viewer
  private boolean ticking;
  private int curves; // being read or sent
  private volatile int viewers;
  private volatile int forwarded;
  private volatile long refused;

  /**
   * @param maxViewers maximum number of concurrent viewers
   * @param wallMs milliseconds since 1970
   */
  public LiveRoutes(
      LiveState state,
      FigureHistory history,
      int maxViewers,
      LongSupplier nanoClock,
      LongSupplier wallMs) {
    this.state = state;
    this.history = history;
    this.maxViewers = maxViewers;
    this.nanoClock = nanoClock;
    this.wallMs = wallMs;
  }

  /** Registers the metrics. */
  public void show(Meters meters) {
    meters.add(into -> into.gauge("berth_live_viewers", viewers, maxViewers));
    meters.addCounter("berth_live_viewers_refused", () -> refused);
    meters.addCounter("berth_live_samples", () -> feed == null ? 0 : feed.rounds());
    meters.addCounter("berth_live_deltas_skipped", () -> feed == null ? 0 : feed.skipped());
  }

  @Override
  public void mount(Router router) {
    router.get("/api/v1/live").handler(this::live);
    router.get("/api/v1/history").handler(this::history);
  }

  // --- feed ---

  private void live(RoutingContext context) {
    Set<LiveTopic> topics = topics(context);
    boolean isElsewhere = state.isElsewhere();
    int most = isElsewhere ? MAX_FORWARDED : maxViewers;
    boolean isFull = (isElsewhere ? forwarded : viewers) >= most;
    if (isFull || (!isElsewhere && !feed(context.vertx()).hasRoomFor(topics))) {
      refused++;
      String why = isFull ? most + " viewers" : LiveFeed.MAX_TOPICS + " topics of all viewers";
      throw tooMany(context, "viewers", "more than " + why);
    }
    if (context.response().closed()) { // its end handler would not run
      return;
    }
    if (isElsewhere) {
      forwarded++;
      context.addEndHandler(over -> forwarded--);
      context.next();
      return;
    }
    HttpServerResponse response = context.response();
    response
        .setChunked(true)
        .putHeader(HttpHeaders.CONTENT_TYPE, "text/event-stream; charset=utf-8")
        .putHeader(HttpHeaders.CACHE_CONTROL, "no-store")
        .putHeader("x-content-type-options", "nosniff");
    if (context.request().method() == HttpMethod.HEAD) {
      response.end();
    } else {
      open(context, topics);
    }
  }

  private static AdminRefusal tooMany(RoutingContext context, String of, String why) {
    context.response().putHeader(HttpHeaders.RETRY_AFTER, "5");
    return new AdminRefusal(503, "too_many_" + of, why + " (expected: at most as many)");
  }

  private void open(RoutingContext context, Set<LiveTopic> topics) {
    HttpServerResponse response = context.response();
    LiveViewer viewer =
        new LiveViewer(
            topics,
            new ResponseSink(response, () -> AdminResponses.abort(context)),
            nanoClock.getAsLong());
    LiveFeed into = feed(context.vertx());
    viewers++;
    context.addEndHandler(
        over -> {
          viewers--;
          into.close(viewer);
        });
    String missing = state.missing();
    JsonObject hello =
        new JsonObject()
            .put("node", state.node())
            .put("controller", missing == null)
            .put("why", missing)
            .put("at_ms", wallMs.getAsLong())
            .put("interval_ms", TimeUnit.NANOSECONDS.toMillis(LiveFeed.INTERVAL_NANOS));
    viewer.write(TopicEntries.event("hello", hello), nanoClock.getAsLong());
    into.open(viewer);
    tick();
  }

  private LiveFeed feed(Vertx of) {
    LiveFeed made = feed;
    if (made == null) {
      vertx = of;
      made = new LiveFeed(new LiveReader(state, history), new WorkerThread(of), nanoClock, wallMs);
      feed = made;
    }
    return made;
  }

  /** Another thread of Vert.x. */
  private record WorkerThread(Vertx vertx) implements LiveFeed.SlowWork {
    @Override
    public <T> Future<T> call(Callable<T> work) {
      return vertx.executeBlocking(work, false);
    }
  }

  private void tick() {
    if (!ticking) {
      ticking = true;
      ticked();
    }
  }

  private void ticked() {
    if (feed == null || vertx == null) {
      return;
    }
    if (state.isElsewhere()) { // the next request is forwarded
      feed.closeAll();
    }
    long wait = feed.tick();
    ticking = wait >= 0;
    if (ticking) {
      vertx.setTimer(Math.max(1, TimeUnit.NANOSECONDS.toMillis(wait)), again -> ticked());
    }
  }

  // --- parameters ---

  private static Set<LiveTopic> topics(RoutingContext context) {
    QueryParameters query =
        QueryParameters.of(
            context, false, "topics", "level", "application", "deployment", "replica");
    query.word("level", LogRoutes.LEVELS); // refuses others
    Map<String, List<String>> filters = new LinkedHashMap<>();
    for (String filter : FILTERS) {
      if (!query.all(filter).isEmpty()) {
        filters.put(filter, List.copyOf(query.all(filter)));
      }
    }
    Set<LiveTopic> topics = new LinkedHashSet<>();
    for (String part : String.join(",", query.all("topics")).split(",")) {
      String name = decoded(part);
      LiveTopic topic = new LiveTopic(name, name.equals("log") ? filters : Map.of());
      if (name.length() > MAX_TOPIC_CHARS || !topic.isValid()) {
        String kinds = String.join(", ", LiveTopic.KINDS);
        throw bad("topics: %s (expected: %s)".formatted(LiveTopic.shorten(name), kinds));
      }
      topics.add(topic);
    }
    if (topics.size() > MAX_TOPICS) {
      throw bad("topics: %d (expected: at most %d)".formatted(topics.size(), MAX_TOPICS));
    }
    return topics;
  }

  /** Returns a topic without its own encoding: a name of a deployment may contain a comma. */
  private static String decoded(String topic) {
    try {
      return URLDecoder.decode(topic.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException malformed) {
      throw bad("topics: %s (expected: percent-encoded)".formatted(LiveTopic.shorten(topic)));
    }
  }

  private static AdminRefusal bad(String why) {
    return new AdminRefusal(400, "bad_parameter", why);
  }

  // --- history ---

  private void history(RoutingContext context) {
    QueryParameters query = QueryParameters.of(context, false, "deployment", "node", "range");
    List<String> deployments = query.all("deployment");
    List<String> nodes = query.all("node");
    boolean ofDay = "day".equals(query.word("range", List.of("hour", "day")));
    if (deployments.size() + nodes.size() > 1) {
      throw bad("deployment, node: both (expected: one)");
    }
    if (state.isElsewhere()) {
      context.next();
      return;
    }
    if (curves >= MAX_CURVES) {
      throw tooMany(context, "reads", "%d reads of curves".formatted(MAX_CURVES));
    }
    String named = deployments.isEmpty() ? null : deployments.get(0);
    Object key = nodes.isEmpty() ? named == null ? null : deployment(named) : nodes.get(0);
    Supplier<JsonObject> found = history.curves(key, ofDay);
    if (found == null) {
      String why = "history: none of " + LiveTopic.shorten(key) + " (expected: a known name)";
      throw new AdminRefusal(404, "not_found", why);
    }
    JsonObject of = new JsonObject();
    if (key != null) {
      of.put(named == null ? "node" : "deployment", key.toString());
    }
    if (!context.response().closed()) { // else its end handler would not run
      curves++;
      context.addEndHandler(over -> curves--);
      AdminResponses.read(
          context, AdminResponses.JSON, () -> of.mergeIn(found.get()).encode() + "\n");
    }
  }

  private static DeploymentId deployment(String name) {
    String[] parts = name.split("#", -1);
    if (parts.length != 2 || parts[0].isEmpty() || parts[1].isEmpty()) {
      throw bad("deployment: %s (expected: APP#NAME)".formatted(LiveTopic.shorten(name)));
    }
    return new DeploymentId(parts[0], parts[1]);
  }
}

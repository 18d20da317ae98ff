import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A model server with the OpenAI API that counts its requests. A request counts from its head until
 * before the last byte of its response, or until its connection closes, which stops it.
 *
 * <p>It has the capacity to run {@link #CAPACITY} requests at full speed. Above that number, all
 * requests slow down evenly, so that an exceeded limit does not increase the throughput. The last
 * message of a request is {@code ID MILLIS}: milliseconds of work at full speed. Confined to one
 * event loop, except for the figures.
 */
final class CountingUpstream {
  static final int CAPACITY = 16;
  private static final int TICK_MS = 5;
  private static final int TICKS_PER_CHUNK = 4;
  private static final String CHUNK =
      """
      data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,\
      "delta":{"role":"assistant","content":"token "},"finish_reason":null}]}

      """;
  private static final String LAST =
      """
      data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,\
      "delta":{},"finish_reason":"stop"}]}

      data: [DONE]

      """;
  private static final JsonObject WHOLE =
      new JsonObject()
          .put("id", "c")
          .put("object", "chat.completion")
          .put("created", 1)
          .put("model", "m")
          .put(
              "choices",
              JsonArray.of(
                  new JsonObject()
                      .put("index", 0)
                      .put(
                          "message",
                          new JsonObject().put("role", "assistant").put("content", "tokens"))
                      .put("finish_reason", "stop")))
          .put(
              "usage",
              new JsonObject()
                  .put("prompt_tokens", 1)
                  .put("completion_tokens", 1)
                  .put("total_tokens", 2));

  /** A request, from its head. */
  private static final class Running {
    final HttpServerResponse response;
    String id = "";
    double leftMs = Double.MAX_VALUE; // until the body has arrived
    boolean stream;
    boolean over;
    int ticks;

    Running(HttpServerResponse response) {
      this.response = response;
    }
  }

  private final List<Running> running = new ArrayList<>();
  private final Map<String, Long> stopped = new ConcurrentHashMap<>();
  private final Set<String> begun = ConcurrentHashMap.newKeySet();
  private volatile int count;
  private volatile int highest;
  private volatile long samples;
  private volatile long samplesAbove;
  private long lastTick = System.nanoTime();

  /** Starts the server and returns its port. */
  int start(Vertx vertx) throws Exception {
    int port =
        vertx
            .createHttpServer(new HttpServerOptions().setHost("127.0.0.1").setPort(0))
            .requestHandler(this::serve)
            .listen()
            .onSuccess(server -> vertx.setPeriodic(TICK_MS, timer -> tick()))
            .toCompletionStage()
            .toCompletableFuture()
            .get()
            .actualPort();
    return port;
  }

  private void serve(HttpServerRequest request) {
    if (!request.path().endsWith("/chat/completions")) {
      JsonObject model = new JsonObject().put("id", "m").put("object", "model").put("created", 1);
      JsonObject models = new JsonObject().put("object", "list").put("data", JsonArray.of(model));
      request.response().putHeader("content-type", "application/json").end(models.encode());
      return;
    }
    Running one = new Running(request.response());
    running.add(one);
    count = running.size();
    highest = Math.max(highest, count);
    request.response().closeHandler(closed -> stop(one));
    request.response().exceptionHandler(failed -> stop(one));
    request.body().onSuccess(body -> begin(one, body.toJsonObject()));
  }

  private void begin(Running one, JsonObject body) {
    JsonArray messages = body.getJsonArray("messages");
    String content = messages.getJsonObject(messages.size() - 1).getString("content");
    int space = content.indexOf(' ');
    one.id = content.substring(0, space);
    begun.add(one.id);
    one.leftMs = Integer.parseInt(content.substring(space + 1));
    one.stream = body.getBoolean("stream", false);
    one.response.putHeader("content-type", one.stream ? "text/event-stream" : "application/json");
    if (one.stream) {
      one.response.setChunked(true);
    }
  }

  private void stop(Running one) {
    if (!one.over) {
      one.over = true;
      running.remove(one);
      count = running.size();
      stopped.put(one.id, System.nanoTime());
    }
  }

  private void tick() {
    long now = System.nanoTime();
    double passed = (now - lastTick) / 1e6;
    lastTick = now;
    samples++;
    samplesAbove += count > CAPACITY ? 1 : 0;
    double work = passed * Math.min(1, CAPACITY / (double) Math.max(1, count));
    List<Running> complete = new ArrayList<>();
    for (Iterator<Running> each = running.iterator(); each.hasNext(); ) {
      Running one = each.next();
      one.leftMs -= work;
      if (one.leftMs <= 0) {
        one.over = true; // before the last byte is written
        each.remove();
        complete.add(one);
      } else if (one.stream && ++one.ticks % TICKS_PER_CHUNK == 0) {
        one.response.write(CHUNK);
      }
    }
    count = running.size();
    for (Running one : complete) {
      one.response.end(one.stream ? LAST : WHOLE.encode());
    }
  }

  /** Number of requests now. */
  int count() {
    return count;
  }

  /** Highest number of requests since the last reset. */
  int highest() {
    return highest;
  }

  /** Share of the time with more than {@link #CAPACITY} requests, from 0 to 1. */
  double shareAbove() {
    return samplesAbove / (double) Math.max(1, samples);
  }

  /** Nano times at which a closed connection stopped a request, by id. */
  Map<String, Long> stopped() {
    return stopped;
  }

  /** Ids of all requests whose body arrived. */
  Set<String> begun() {
    return begun;
  }

  /** Forgets the figures. To be called while no request runs. */
  void reset() {
    stopped.clear();
    begun.clear();
    highest = 0;
    samples = 0;
    samplesAbove = 0;
  }
}

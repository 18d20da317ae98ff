import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;

/**
 * Raw Vert.x server with one event loop and without any other work, behind each proxy.
 *
 * <p>Paths end with {@code /unary} (1 KiB), {@code /events} (a stream of events, each flushed by
 * itself), {@code /paced} (the same, one event each millisecond) or {@code /held} (one event, then
 * an open stream). A POST has its query in place of that end of a path: {@code unary}, or {@code
 * chat} for a stream of chunks of a chat. Its response follows the whole body.
 */
public final class PlainUpstream {
  static final int EVENTS = 100;
  private static final String EVENT = "data: 0123456789ab\n\n";
  private static final String CHAT =
      "data: {\"id\":\"chatcmpl-0123456789abcdef\",\"object\":\"chat.completion.chunk\","
          + "\"created\":1790000000,\"model\":\"upstream/model-1\",\"choices\":[{\"index\":0,"
          + "\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n";
  private static final int UNARY_BYTES = 1024;
  private static final int BACKLOG = 4096;
  private static final int PACE_MS = 1;

  private final Vertx vertx;
  private final Buffer unary = Buffer.buffer("u".repeat(UNARY_BYTES));
  private final Buffer event = Buffer.buffer(EVENT);
  private final Buffer chat = Buffer.buffer(CHAT);

  private PlainUpstream(Vertx vertx) {
    this.vertx = vertx;
  }

  public static void main(String[] args) throws Exception {
    Vertx vertx =
        Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1).setPreferNativeTransport(true));
    PlainUpstream upstream = new PlainUpstream(vertx);
    int port =
        vertx
            .createHttpServer(
                new HttpServerOptions()
                    .setHost("127.0.0.1")
                    .setPort(0)
                    .setAcceptBacklog(BACKLOG)
                    .setIdleTimeout(0))
            .requestHandler(upstream::serve)
            .listen()
            .toCompletionStage()
            .toCompletableFuture()
            .get()
            .actualPort();
    System.out.print("upstream listens on 127.0.0.1:" + port + "\nstarted\n"); // one write
  }

  private void serve(HttpServerRequest request) {
    if (request.query() == null) {
      respond(request.response(), request.path());
    } else {
      request.end().onSuccess(read -> respond(request.response(), "/" + request.query()));
    }
  }

  private void respond(HttpServerResponse response, String path) {
    if (path.endsWith("/unary")) {
      response.putHeader("content-type", "application/json").end(unary);
      return;
    }
    response.putHeader("content-type", "text/event-stream").setChunked(true);
    if (path.endsWith("/events")) {
      next(response, event, EVENTS);
    } else if (path.endsWith("/chat")) {
      next(response, chat, EVENTS);
    } else if (path.endsWith("/paced")) {
      int[] left = {EVENTS};
      vertx.setPeriodic(
          PACE_MS,
          timer -> {
            response.write(event);
            if (--left[0] == 0 || response.closed()) {
              vertx.cancelTimer(timer);
              response.end();
            }
          });
    } else if (path.endsWith("/held")) {
      response.write(event);
    } else {
      response.setStatusCode(404).end();
    }
  }

  /** Writes an event in a task of its own, so that no two events share a write. */
  private void next(HttpServerResponse response, Buffer each, int left) {
    response.write(each);
    if (left == 1) {
      response.end();
    } else {
      vertx.runOnContext(none -> next(response, each, left - 1));
    }
  }
}

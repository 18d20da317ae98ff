import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;

/**
 * Raw Vert.x server with one event loop and without any other work, behind each proxy.
 *
 * <p>Paths end with {@code /unary} (1 KiB), {@code /events} (a stream of events, each flushed by
 * itself), {@code /paced} (the same, one event each millisecond) or {@code /held} (one event, then
 * an open stream). The response to a POST follows the whole body: a stream of chunks of a chat if a
 * short body requests one, else a completion of 1 KiB. Other paths have a list of one model.
 */
public final class PlainUpstream {
  static final int EVENTS = 100;
  private static final String EVENT = "data: 0123456789ab\n\n";
  private static final String CHAT =
      "data: {\"id\":\"chatcmpl-0123456789abcdef\",\"object\":\"chat.completion.chunk\","
          + "\"created\":1790000000,\"model\":\"upstream/model-1\",\"choices\":[{\"index\":0,"
          + "\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n";
  private static final String COMPLETION =
      "{\"id\":\"chatcmpl-0123456789abcdef\",\"object\":\"chat.completion\",\"created\":1790000000,"
          + "\"model\":\"upstream/model-1\",\"choices\":[{\"index\":0,\"message\":"
          + "{\"role\":\"assistant\",\"content\":\"%s\",\"refusal\":null},\"logprobs\":null,"
          + "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":50,\"completion_tokens\":140,"
          + "\"total_tokens\":190}}";
  private static final String MODELS =
      "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\",\"created\":1}]}";
  private static final String JSON = "application/json";
  private static final int UNARY_BYTES = 1024;
  private static final int SHORT_BYTES = 4096;
  private static final int BACKLOG = 4096;
  private static final int PACE_MS = 1;

  private final Vertx vertx;
  private final Buffer unary = Buffer.buffer("u".repeat(UNARY_BYTES));
  private final Buffer event = Buffer.buffer(EVENT);
  private final Buffer chat = Buffer.buffer(CHAT);
  private final Buffer completion =
      Buffer.buffer(
          COMPLETION.formatted(
              " word".repeat(UNARY_BYTES / 5).substring(COMPLETION.length() - 2)));

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
    if (request.method() != HttpMethod.POST) {
      respond(request.response(), request.path());
      return;
    }
    Buffer begun = Buffer.buffer();
    request.handler(
        piece -> {
          if (begun.length() < SHORT_BYTES) {
            begun.appendBuffer(piece);
          }
        });
    request.endHandler(
        read -> {
          boolean streams =
              begun.length() < SHORT_BYTES
                  && begun.toString().replace(" ", "").contains("\"stream\":true");
          respond(request.response(), streams ? "/chat" : "/completion");
        });
  }

  private void respond(HttpServerResponse response, String path) {
    if (path.endsWith("/unary")) {
      response.putHeader("content-type", JSON).end(unary);
      return;
    }
    if (path.endsWith("/completion")) {
      response.putHeader("content-type", JSON).end(completion);
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
      response.setChunked(false).putHeader("content-type", JSON).end(MODELS);
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

package dev.berth.admin.page;

import dev.berth.admin.ExplainRing;
import dev.berth.config.ExplainOptions;
import dev.berth.config.admin.PlayOptions;
import dev.berth.config.keys.Settings;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A request that an operator tries out, and its response as lines of JSON. Confined to the control
 * loop.
 *
 * <pre>
 *   {"head": …}, {"chunk": …} for each part of the body, then {"end": …} or {"error": …}
 * </pre>
 *
 * If the operator's connection ends first, the request is cancelled as for any client that leaves.
 */
final class PlayExchange {
  private static final long KEEP_ALIVE_MS = 15_000;

  /** Present in the response of each explained request. */
  private static final String EXPLAINED = "x-berth-overhead-us";

  /** Waits for a record that may follow the response: 10 ms, 20 ms and so on, together 1.3 s. */
  private static final int MAX_LOOKS = 7;

  private static final long FIRST_LOOK_MS = 10;

  private final RoutingContext context;
  private final Vertx vertx;
  private final HttpServerResponse out;
  private final Settings settings;
  private final ExplainRing explained;
  private final Runnable ended;
  private @Nullable HttpClientAgent client; // once the request is sent
  private @Nullable String requestId; // once the response has begun
  private boolean awaitsRecord;
  private boolean whole; // the response, or its shown part
  private long bytes;
  private long deadline = -1;
  private long keepAlive = -1;
  private boolean over;

  /**
   * @param ended runs once, when the exchange is over
   */
  PlayExchange(RoutingContext context, Settings settings, ExplainRing explained, Runnable ended) {
    this.context = context;
    this.vertx = context.vertx();
    this.out = context.response();
    this.settings = settings;
    this.explained = explained;
    this.ended = ended;
    context.addEndHandler(closed -> finish()); // the client left
  }

  /** Refuses a request that was not sent. */
  void refuse(Throwable why) {
    if (!over) {
      finish();
      context.fail(why);
    }
  }

  /**
   * Sends the request.
   *
   * @param to a client for this request alone; closed with the exchange
   */
  void start(HttpClientAgent to, RequestOptions target, @Nullable Buffer body) {
    if (over) {
      to.close();
      return;
    }
    client = to;
    Duration timeout = settings.get(PlayOptions.TIMEOUT_S);
    String late = "no whole response after " + timeout.toMillis() / 1e3 + " s";
    deadline = vertx.setTimer(Math.max(1, timeout.toMillis()), id -> fail("timeout", late));
    keepAlive = vertx.setPeriodic(KEEP_ALIVE_MS, id -> out.write("\n"));
    out.putHeader(HttpHeaders.CONTENT_TYPE, "application/x-ndjson")
        .putHeader(HttpHeaders.CACHE_CONTROL, "no-store")
        .putHeader("X-Content-Type-Options", "nosniff")
        .setChunked(true)
        .write("\n"); // the head, at once
    to.request(target)
        .compose(request -> body == null ? request.send() : request.send(body))
        .onSuccess(this::onHead)
        .onFailure(failed -> fail("connection", String.valueOf(failed.getMessage())));
  }

  private void onHead(HttpClientResponse in) {
    if (over) {
      return; // the client is closed
    }
    requestId = in.getHeader("x-request-id");
    awaitsRecord = in.headers().contains(EXPLAINED);
    JsonArray headers = new JsonArray();
    for (Map.Entry<String, String> each : in.headers()) {
      headers.add(new JsonArray().add(each.getKey()).add(each.getValue()));
    }
    write(
        "head",
        new JsonObject()
            .put("status", in.statusCode())
            .put("version", in.version().name().replaceFirst("HTTP_(\\d)_", "HTTP/$1."))
            .put("headers", headers)
            .put("request_id", requestId));
    in.handler(chunk -> onChunk(in, chunk))
        .endHandler(end -> onWhole(false))
        .exceptionHandler(failed -> fail("aborted", String.valueOf(failed.getMessage())));
  }

  private void onChunk(HttpClientResponse in, Buffer chunk) {
    if (over || whole) {
      return;
    }
    long left = settings.get(PlayOptions.MAX_RESPONSE_BYTES) - bytes;
    Buffer shown = chunk.length() <= left ? chunk : chunk.slice(0, (int) left);
    bytes += shown.length();
    if (shown.length() > 0) {
      write("chunk", toJson(shown));
    }
    if (shown != chunk) {
      onWhole(true);
    } else if (out.writeQueueFull()) {
      in.pause();
      out.drainHandler(drained -> in.resume());
    }
  }

  /** Returns the bytes as text if they are UTF-8, which the end of a chunk may divide. */
  private static JsonObject toJson(Buffer bytes) {
    try {
      String text =
          StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes.getBytes())).toString();
      return new JsonObject().put("text", text);
    } catch (CharacterCodingException binary) {
      return new JsonObject().put("base64", bytes.getBytes());
    }
  }

  private void onWhole(boolean truncated) {
    if (!over && !whole) {
      whole = true;
      closeClient();
      explain(truncated, 0);
    }
  }

  /** Ends the lines with the record of the request, which may follow its response. */
  private void explain(boolean truncated, int looks) {
    if (over) {
      return;
    }
    JsonObject found = requestId == null ? null : explained.latestOf(requestId);
    if (found == null && awaitsRecord && looks < MAX_LOOKS) {
      vertx.setTimer(FIRST_LOOK_MS << looks, id -> explain(truncated, looks + 1));
      return;
    }
    write(
        "end",
        new JsonObject()
            .put("request_id", requestId)
            .put("bytes", bytes)
            .put("truncated", truncated)
            .put("explanation", found)
            .put("why", found == null ? whyNone() : null));
    finish();
  }

  private String whyNone() {
    return !settings.get(ExplainOptions.HEADER)
        ? "berth.explain.header is false"
        : awaitsRecord ? "the record is not stored" : "the request reached no deployment";
  }

  private void fail(String code, String message) {
    if (!over && !whole) {
      write(
          "error",
          new JsonObject().put("code", code).put("message", message).put("request_id", requestId));
      finish();
    }
  }

  private void write(String kind, JsonObject value) {
    out.write(new JsonObject().put(kind, value).encode() + "\n");
  }

  private void closeClient() {
    if (client != null) {
      client.close();
    }
  }

  private void finish() {
    if (over) {
      return;
    }
    over = true;
    vertx.cancelTimer(deadline);
    vertx.cancelTimer(keepAlive);
    closeClient();
    ended.run();
    if (out.headWritten() && !out.closed()) {
      out.end();
    }
  }
}

package dev.berth.fakes;

import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A server of the Model Context Protocol, whose calls last until a test ends them. A call with the
 * tool
 *
 * <ul>
 *   <li>{@code echo} gets its response at once
 *   <li>{@code wait} gets a stream with one event, whose id is {@code JSON-RPC id-1}, and its
 *       response when the test releases it
 *   <li>{@code elicit} gets a stream with a request of the server, and its response when the client
 *       has answered that
 *   <li>{@code plain} is as {@code wait}, without ids of events
 *   <li>{@code final} gets a stream whose one event is the response, and which does not end
 * </ul>
 *
 * <p>Thread-safe.
 */
public final class FakeMcpServer implements AutoCloseable {
  private static final String SESSION = "mcp-session-id";

  /** A message as received; names of headers are in lower case. */
  public record ReceivedMessage(String method, Map<String, String> headers, String body) {}

  private record OpenCall(HttpServerResponse response, String session) {}

  private final String name;
  private final Vertx vertx = Vertx.vertx();
  private final HttpServer server;
  private final Map<String, OpenCall> calls = new ConcurrentHashMap<>(); // by JSON-RPC id
  private final Set<String> sessions = ConcurrentHashMap.newKeySet();
  private final AtomicInteger lastSession = new AtomicInteger();
  private final AtomicInteger ongoing = new AtomicInteger();
  private final AtomicInteger highest = new AtomicInteger();
  private final AtomicInteger streams = new AtomicInteger();

  /** Everything that arrived, in order. */
  public final List<ReceivedMessage> received = new CopyOnWriteArrayList<>();

  /** JSON-RPC ids of calls whose connection the client closed before their response. */
  public final Set<String> abandoned = ConcurrentHashMap.newKeySet();

  public FakeMcpServer(String name) throws Exception {
    this(name, 0);
  }

  public FakeMcpServer(String name, int port) throws Exception {
    this.name = name;
    this.server =
        vertx
            .createHttpServer()
            .requestHandler(this::receive)
            .listen(port, "127.0.0.1")
            .await(20, TimeUnit.SECONDS);
  }

  public int port() {
    return server.actualPort();
  }

  public String url() {
    return "http://127.0.0.1:" + port();
  }

  /** Returns the number of JSON-RPC requests in progress, without pings. */
  public int ongoing() {
    return ongoing.get();
  }

  public int highest() {
    return highest.get();
  }

  /** Returns the number of open streams. */
  public int streams() {
    return streams.get();
  }

  /** Returns the methods of the messages that arrived; {@code result} for a response. */
  public List<String> methods() {
    return received.stream()
        .filter(each -> each.method.equals("POST"))
        .map(each -> new JsonObject(each.body).getString("method", "result"))
        .toList();
  }

  /** Ends an open call with its response. */
  public void release(String id) {
    if (!releaseIfOpen(id)) {
      throw new IllegalStateException(id + ": not open");
    }
  }

  /** Ends a call with its response; false if the call is not open. */
  public boolean releaseIfOpen(String id) {
    OpenCall call = calls.remove(id);
    if (call != null) {
      ongoing.decrementAndGet();
      vertx.runOnContext(run -> call.response.end(event(id + "-2", result(id))));
    }
    return call != null;
  }

  /** Closes the connection of an open call. */
  public void breakOff(String id) {
    OpenCall call = Objects.requireNonNull(calls.get(id), id);
    vertx.runOnContext(run -> call.response.reset());
  }

  /** Returns whether a call is open. */
  public boolean isOpen(String id) {
    return calls.containsKey(id);
  }

  private void receive(HttpServerRequest request) {
    Map<String, String> headers = new ConcurrentHashMap<>();
    request.headers().forEach((key, value) -> headers.put(key.toLowerCase(), value));
    request
        .body()
        .onSuccess(
            body -> {
              received.add(new ReceivedMessage(request.method().name(), headers, body.toString()));
              String session = headers.get(SESSION);
              if (session != null && !sessions.contains(session)) {
                request.response().setStatusCode(404).end();
              } else {
                answer(request, session, body);
              }
            });
  }

  private void answer(HttpServerRequest request, @Nullable String session, Buffer body) {
    HttpServerResponse response = request.response();
    switch (request.method().name()) {
      case "GET" -> {
        String last = request.getHeader("last-event-id");
        startStream(response);
        streams.incrementAndGet();
        response.closeHandler(closed -> streams.decrementAndGet());
        response.write(
            last == null ? ": open\n\n" : event("replayed", "{\"replays\":\"" + last + "\"}"));
      }
      case "DELETE" -> {
        sessions.remove(session);
        response.end();
      }
      default -> answerMessage(response, session, body.toJsonObject());
    }
  }

  private void answerMessage(
      HttpServerResponse response, @Nullable String session, JsonObject message) {
    String method = message.getString("method");
    Object id = message.getValue("id");
    if (method == null || id == null) {
      response.setStatusCode(202).end();
      if (method == null && "answer".equals(id)) {
        calls.keySet().stream().filter(each -> each.startsWith("elicit")).forEach(this::release);
      }
      return;
    }
    JsonObject parameters = message.getJsonObject("params", new JsonObject());
    String tool = method.equals("tools/call") ? parameters.getString("name", "") : "";
    if (method.equals("initialize")) {
      String own = name + "-" + lastSession.incrementAndGet();
      sessions.add(own);
      response.putHeader(SESSION, own);
    }
    if (!List.of("wait", "plain", "elicit", "final").contains(tool)
        && !method.endsWith("/listen")) {
      response.putHeader("content-type", "application/json").end(result(id.toString()));
      return;
    }
    String key = id.toString();
    calls.put(key, new OpenCall(response, String.valueOf(session)));
    highest.accumulateAndGet(ongoing.incrementAndGet(), Math::max);
    response.closeHandler(
        closed -> {
          if (calls.remove(key) != null) {
            ongoing.decrementAndGet();
            abandoned.add(key);
          }
        });
    startStream(response);
    String first =
        tool.equals("final")
            ? result(key)
            : tool.equals("elicit")
                ? "{\"jsonrpc\":\"2.0\",\"id\":\"answer\",\"method\":\"elicitation/create\"}"
                : "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}";
    response.write(tool.equals("plain") ? "data: " + first + "\n\n" : event(key + "-1", first));
  }

  private static void startStream(HttpServerResponse response) {
    response.setChunked(true).putHeader("content-type", "text/event-stream");
  }

  private static String event(String id, String data) {
    return "id: " + id + "\nevent: message\ndata: " + data + "\n\n";
  }

  private String result(String id) {
    return "{\"jsonrpc\":\"2.0\",\"id\":\"" + id + "\",\"result\":{\"server\":\"" + name + "\"}}";
  }

  @Override
  public void close() {
    vertx.close().toCompletionStage().toCompletableFuture().join();
  }
}

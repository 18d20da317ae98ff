import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Asks from within a node, in one of the {@link Way}s, what is served on another: {@code
 * /ask?way=REPLICA&bytes=1024&callers=64&ms=100} has so many callers ask again when they were
 * answered, and answers how often they were, and how often not. 0 bytes ask for the hundred events of {@link Streams}.
 * {@code /ask?way=WHERE} answers with the process that serves, {@code /ask?way=SELF} with its own.
 */
public final class NodesApp {
  static final int MOST = 2 << 20;

  private NodesApp() {}

  /** An asker on each node, and what serves on one. */
  public static Application build(Map<String, Object> args) {
    Tls tls = new Tls(String.valueOf(args.get("certificates")));
    Way.Served served = new Way.Served(tls);
    Way.Askers askers = new Way.Askers(tls);
    AsyncHandler asker = (request, context) -> ask(request, context, askers);
    AsyncHandler server = (request, context) -> serve(request, served);
    return Application.of(
        Deployment.of("asker", replica -> asker).withMaxOngoingRequests(1_000),
        Deployment.of("served", replica -> server).withMaxOngoingRequests(1_000));
  }

  /**
   * Answers after 20 ms, with few slots: what bounds it is their number. In a process whose id names
   * a file of {@code folder} it takes ten times as long.
   */
  public static Application timer(Map<String, Object> args) {
    Path slow = Path.of(String.valueOf(args.get("folder")), "slow-" + ProcessHandle.current().pid());
    AsyncHandler handler =
        (request, context) ->
            context
                .after(Duration.ofMillis(Files.exists(slow) ? 200 : 20))
                .map(passed -> Response.text("done\n"));
    return Application.of(Deployment.of("timer", replica -> handler).withMaxOngoingRequests(8));
  }

  /** Answers at once, and says from where. */
  public static Application noOp() {
    Buffer body = Buffer.buffer("0123456789abcdef0123456789abcdef");
    String pid = String.valueOf(ProcessHandle.current().pid());
    AsyncHandler handler =
        (request, context) ->
            Future.succeededFuture(
                Response.of(200, "text/plain", body).withHeader("X-Process", pid));
    return Application.of(Deployment.of("no-op", replica -> handler).withMaxOngoingRequests(10_000));
  }

  private static Future<Response> serve(Request request, Way.Served served) {
    switch (request.path()) {
      case "/ports":
        return served.ports(Vertx.currentContext()).map(ports -> Response.text(ports));
      case "/where":
        return Future.succeededFuture(
            Response.text(String.valueOf(ProcessHandle.current().pid())));
      case "/events":
        return Future.succeededFuture(
            Response.stream(
                Streams.CONTENT_TYPE,
                writer -> {
                  Promise<Void> done = Promise.promise();
                  Way.events(
                      Vertx.currentContext(), writer::write, last -> last.onComplete(done));
                  return done.future();
                }));
      default:
        return Future.succeededFuture(Response.of(200, "text/plain", request.bytes()));
    }
  }

  private static Future<Response> ask(Request request, RequestContext context, Way.Askers askers) {
    String way = request.queryParameter("way");
    if (way.equals("SELF")) {
      return Future.succeededFuture(Response.text(String.valueOf(ProcessHandle.current().pid())));
    }
    if (way.equals("WHERE")) {
      return context.handle("served").call(Request.get("/where"));
    }
    int bytes = Integer.parseInt(request.queryParameter("bytes"));
    int callers = Integer.parseInt(request.queryParameter("callers"));
    long nanos = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(request.queryParameter("ms")));
    return askers
        .of(Way.valueOf(way), context)
        .compose(link -> new Slice(link, bytes, nanos).run(callers))
        .map(answers -> Response.text(answers + "\n"));
  }

  /** Confined to the event loop. */
  private static final class Slice {
    private final Way.Asks link;
    private final Buffer body;
    private final int wanted;
    private final long until;
    private final Promise<String> done = Promise.promise();
    private int open;
    private int answers;
    private int failures;

    Slice(Way.Asks link, int bytes, long nanos) {
      this.link = link;
      this.body = Buffer.buffer(new byte[bytes]);
      this.wanted = bytes == 0 ? Streams.EVENTS * Streams.EVENT.length() : bytes;
      this.until = System.nanoTime() + nanos;
    }

    Future<String> run(int callers) {
      open = callers;
      for (int caller = 0; caller < callers; caller++) {
        link.loop().runOnContext(first -> ask());
      }
      return done.future();
    }

    private void ask() {
      link.asks().apply(body).onComplete(this::answered, this::failed);
    }

    private void failed(Throwable cause) {
      failures++;
      again();
    }

    private void answered(int bytes) {
      if (bytes != wanted) {
        done.tryFail(bytes + " bytes (expected: " + wanted + ")");
      } else {
        answers++;
        again();
      }
    }

    private void again() {
      if (System.nanoTime() < until) {
        link.loop().runOnContext(next -> ask()); // each on a stack of its own
      } else if (--open == 0) {
        done.tryComplete(answers + " " + failures);
      }
    }
  }
}

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;

/** Applications that do right or wrong as the last part of the path says. */
public final class SoakApps {
  static final int CHUNKS = 100;
  static final Duration RESERVATION_TTL = Duration.ofSeconds(1);
  private static final Duration HURRY = Duration.ofMillis(100);

  private static final Buffer BODY = Buffer.buffer("0123456789abcdef0123456789abcdef");
  private static final Buffer CHUNK = Buffer.buffer("data: 0123456789ab\n\n");

  private SoakApps() {}

  /** What handlers throw on purpose: the log names it, and the check of the log looks for it. */
  static final class OnPurpose extends RuntimeException {
    private static final long serialVersionUID = 1;

    OnPurpose(String message) {
      super(message);
    }
  }

  private static Response ok() {
    return Response.of(200, "text/plain", BODY);
  }

  private static String wanted(Request request) {
    String path = request.path();
    return path.substring(path.lastIndexOf('/') + 1);
  }

  private static <T> Future<T> unknown(String wanted) {
    return Future.failedFuture(new IllegalArgumentException("path: " + wanted));
  }

  /** Answers at once, late, never, or not at all. */
  public static Application plain() {
    AsyncHandler handler =
        (request, context) -> {
          switch (wanted(request)) {
            case "ok":
            case "upload":
              return Future.succeededFuture(ok());
            case "slow":
              return context.after(Duration.ofMillis(5)).map(none -> ok());
            case "never":
              return context.after(Duration.ofMinutes(10)).map(none -> ok());
            case "throw":
              throw new OnPurpose("thrown");
            case "fail":
              return Future.failedFuture(new OnPurpose("failed"));
            default:
              return unknown(request.path());
          }
        };
    return Application.of(
        Deployment.async("plain", handler).withNumReplicas(2).withMaxOngoingRequests(500));
  }

  /** The same on threads of its own. */
  public static Application blocking() {
    BlockingHandler handler =
        (request, context) -> {
          if (wanted(request).equals("throw")) {
            throw new OnPurpose("thrown by a thread");
          }
          return ok();
        };
    return Application.of(Deployment.blocking("blocking", handler).withMaxOngoingRequests(16));
  }

  /** A hundred chunks with a rest after every tenth; or it breaks off in the middle. */
  public static Application streams() {
    AsyncHandler handler =
        (request, context) -> {
          int failAt = wanted(request).equals("fail") ? CHUNKS / 2 : CHUNKS;
          return Future.succeededFuture(
              Response.stream("text/event-stream", writer -> write(writer, context, 0, failAt)));
        };
    return Application.of(
        Deployment.async("streams", handler).withNumReplicas(2).withMaxOngoingRequests(500));
  }

  private static Future<Void> write(
      ResponseWriter writer, RequestContext context, int from, int failAt) {
    Future<Void> written = Future.succeededFuture();
    for (int i = from; i < from + 10; i++) {
      written = writer.write(CHUNK);
    }
    if (from + 10 >= CHUNKS) {
      return written;
    }
    if (from + 10 >= failAt) {
      return Future.failedFuture(new OnPurpose("failed in its stream"));
    }
    return written
        .compose(none -> context.after(Duration.ofMillis(1)))
        .compose(none -> write(writer, context, from + 10, failAt));
  }

  /** Chooses a worker, and then dispatches, closes, comes too late, or forgets it. */
  public static Application choosing() {
    AsyncHandler worker = (request, context) -> Future.succeededFuture(ok());
    return Application.of(
        Deployment.of("chooser", replica -> new Chooser(replica.handle("worker")))
            .withMaxOngoingRequests(1000),
        Deployment.async("worker", worker).withNumReplicas(2).withMaxOngoingRequests(1000));
  }

  private record Chooser(DeploymentHandle worker) implements AsyncHandler {
    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      String wanted = wanted(request);
      switch (wanted) {
        case "ok":
          return context.handle("worker").withSelection(chosen -> chosen.dispatch(request));
        case "close":
          return context.handle("worker").withSelection(chosen -> Future.succeededFuture(ok()));
        case "abandon":
          // Not within the request: nothing but the lease's own end gives the slot back.
          return worker.choose().map(forgotten -> ok());
        case "late":
          return worker
              .choose()
              .compose(
                  chosen ->
                      context
                          .after(RESERVATION_TTL.plusMillis(300))
                          .compose(none -> chosen.dispatch(request)));
        default:
          return unknown(wanted);
      }
    }
  }

  /** A parent calls its child, which may fail or take too long. */
  public static Application composed() {
    AsyncHandler child =
        (request, context) -> {
          switch (wanted(request)) {
            case "ok":
              return Future.succeededFuture(ok());
            case "fail":
              throw new OnPurpose("thrown by a child");
            default:
              return context.after(Duration.ofMinutes(10)).map(none -> ok());
          }
        };
    return Application.of(
        Deployment.async("parent", SoakApps::parent).withMaxOngoingRequests(1000),
        Deployment.async("child", child).withNumReplicas(2).withMaxOngoingRequests(500));
  }

  private static Future<Response> parent(Request request, RequestContext context) {
    DeploymentHandle child = context.handle("child");
    return (wanted(request).equals("timeout") ? child.withTimeout(HURRY) : child).call(request);
  }
}

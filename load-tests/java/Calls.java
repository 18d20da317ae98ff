import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;

/**
 * A deployment that calls another one, in the way that the path names: {@code /call} calls it,
 * {@code /choose} chooses a replica and dispatches to it. {@code /call-100} and {@code /choose-100}
 * do so a hundred times, one after the other, for one request.
 */
public final class Calls {
  private static final int TIMES = 100;

  private Calls() {}

  /** Named by the configuration; slots enough that no request waits. */
  public static Application build() {
    Buffer body = Buffer.buffer("0123456789abcdef0123456789abcdef");
    AsyncHandler child =
        (request, context) -> Future.succeededFuture(Response.of(200, "text/plain", body));
    return Application.of(
        Deployment.of("parent", replica -> new Parent(replica.handle("child")))
            .withMaxOngoingRequests(10_000),
        Deployment.of("child", replica -> child).withMaxOngoingRequests(10_000));
  }

  private record Parent(DeploymentHandle child) implements AsyncHandler {
    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      DeploymentHandle within = Child.of(context, child);
      String path = request.path();
      switch (path) {
        case "/call":
          return call(within, request);
        case "/choose":
          return choose(within, request);
        case "/call-100":
        case "/choose-100":
          Promise<Response> answer = Promise.promise();
          repeat(within, request, path.equals("/choose-100"), TIMES, answer);
          return answer.future();
        default:
          return Future.succeededFuture(Response.of(404, "text/plain", Buffer.buffer(path)));
      }
    }

    private static Future<Response> call(DeploymentHandle child, Request request) {
      return child.call(request);
    }

    private static Future<Response> choose(DeploymentHandle child, Request request) {
      return child.withSelection(selection -> selection.dispatch(request));
    }

    private static void repeat(
        DeploymentHandle child,
        Request request,
        boolean choosing,
        int left,
        Promise<Response> answer) {
      Future<Response> made = choosing ? choose(child, request) : call(child, request);
      made.onComplete(
          response -> {
            if (left == 1) {
              answer.complete(response);
            } else {
              repeat(child, request, choosing, left - 1, answer);
            }
          },
          answer::fail);
    }
  }
}

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;

/** Takes the body of a request to its end, whole or piece by piece, and answers with its length. */
public final class Uploads {
  private Uploads() {}

  /** Named by the configuration: the handler gets the whole body. */
  public static Application whole() {
    AsyncHandler handler =
        (request, context) -> Future.succeededFuture(answer(request.bytes().length()));
    return of(handler);
  }

  /** Named by the configuration: the handler gets each piece as it comes. */
  public static Application streamed() {
    return of(new Streamed());
  }

  private static Application of(AsyncHandler handler) {
    return Application.of(
        Deployment.of("upload", replica -> handler).withMaxOngoingRequests(10_000));
  }

  private static Response answer(long length) {
    return Response.of(200, "text/plain", Buffer.buffer(String.valueOf(length)));
  }

  private static final class Streamed implements AsyncHandler {
    @Override
    public boolean streamsRequests() {
      return true;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      Promise<Response> answer = Promise.promise();
      long[] length = new long[1];
      request.stream()
          .exceptionHandler(answer::tryFail)
          .endHandler(end -> answer.tryComplete(answer(length[0])))
          .handler(piece -> length[0] += piece.length())
          .resume();
      return answer.future();
    }
  }
}

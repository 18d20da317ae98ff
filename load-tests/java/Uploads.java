import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;

/** Handlers that read a request's body, whole or by chunks, and respond with its length. */
public final class Uploads {
  private Uploads() {}

  /** Builds the application of {@code Uploads:whole}: its handler receives whole bodies. */
  public static Application whole() {
    AsyncHandler handler =
        (request, context) -> Future.succeededFuture(answer(request.bytes().length()));
    return of(handler);
  }

  /** Builds the application of {@code Uploads:streamed}: its handler receives each chunk. */
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

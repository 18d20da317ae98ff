import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.time.Duration;

/** A body of any size out, and a slow reader of a body of any size in. */
public final class Bulk {
  private static final int PIECE = 64 * 1024;

  private Bulk() {}

  /** Named by the configuration. */
  public static Application build() {
    return Application.of(Deployment.of("bulk", replica -> new Handler()));
  }

  private static final class Handler implements AsyncHandler {
    private final Buffer piece = Buffer.buffer(new byte[PIECE]);

    @Override
    public boolean streamsRequests() {
      return true;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      String mebibytes = request.queryParameter("mib");
      return mebibytes == null
          ? slowly(request.stream(), context)
          : Future.succeededFuture(
              Response.stream(
                  "application/octet-stream",
                  writer -> write(writer, Integer.parseInt(mebibytes) * ((1 << 20) / PIECE))));
    }

    private Future<Void> write(ResponseWriter writer, int pieces) {
      Promise<Void> done = Promise.promise();
      next(writer, pieces, done);
      return done.future();
    }

    private void next(ResponseWriter writer, int left, Promise<Void> done) {
      for (int pieces = left; pieces > 0; pieces--) {
        Future<Void> written = writer.write(piece);
        if (!written.isComplete()) {
          int rest = pieces - 1;
          written.onComplete(none -> next(writer, rest, done), done::tryFail);
          return;
        }
      }
      done.tryComplete();
    }

    /** A piece every millisecond: slower than any client on the same machine. */
    private static Future<Response> slowly(ReadStream<Buffer> body, RequestContext context) {
      Promise<Response> answer = Promise.promise();
      long[] bytes = new long[1];
      body.exceptionHandler(answer::tryFail)
          .endHandler(end -> answer.tryComplete(Response.text(bytes[0] + "\n")))
          .handler(
              piece -> {
                bytes[0] += piece.length();
                context.after(Duration.ofMillis(1)).onSuccess(none -> body.fetch(1));
              });
      body.fetch(1);
      return answer.future();
    }
  }
}

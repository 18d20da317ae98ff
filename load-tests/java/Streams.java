import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;

/**
 * Streams a hundred events of 20 bytes: all in one task of the event loop at {@code /tick}, each in
 * a task of its own at {@code /hop}.
 */
public final class Streams {
  static final int EVENTS = 100;
  static final String EVENT = "data: 0123456789ab\n\n";
  static final String CONTENT_TYPE = "text/event-stream";

  private Streams() {}

  /** Named by the configuration; slots enough that no request waits. */
  public static Application build() {
    Buffer event = Buffer.buffer(EVENT);
    AsyncHandler handler =
        (request, context) -> {
          boolean hops = request.path().equals("/hop");
          return Future.succeededFuture(
              Response.stream(
                  CONTENT_TYPE, writer -> hops ? hops(writer, event) : tick(writer, event)));
        };
    return Application.of(
        Deployment.of("streams", replica -> handler).withMaxOngoingRequests(10_000));
  }

  private static Future<Void> tick(ResponseWriter writer, Buffer event) {
    for (int i = 1; i < EVENTS; i++) {
      writer.write(event);
    }
    return writer.write(event);
  }

  private static Future<Void> hops(ResponseWriter writer, Buffer event) {
    Promise<Void> done = Promise.promise();
    next(Vertx.currentContext(), writer, event, EVENTS, done);
    return done.future();
  }

  private static void next(
      Context context, ResponseWriter writer, Buffer event, int left, Promise<Void> done) {
    Future<Void> written = writer.write(event);
    if (left == 1) {
      written.onComplete(done);
    } else {
      context.runOnContext(none -> next(context, writer, event, left - 1, done));
    }
  }
}

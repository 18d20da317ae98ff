import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.util.Map;

/** Applications that answer at once: with the same bytes, with what they were sent, or never. */
public final class NoOp {
  private static final String LINE = "0123456789abcdef0123456789abcdef";

  private NoOp() {}

  /**
   * Named by the configuration; slots enough that no request waits.
   *
   * @param arguments {@code body_bytes}, default 32
   */
  public static Application build(Map<String, Object> arguments) {
    int bytes = ((Number) arguments.getOrDefault("body_bytes", LINE.length())).intValue();
    Buffer body = Buffer.buffer(LINE.repeat(bytes / LINE.length() + 1).substring(0, bytes));
    AsyncHandler handler =
        (request, context) -> Future.succeededFuture(Response.of(200, "text/plain", body));
    return Application.of(
        Deployment.of("no-op", replica -> handler).withMaxOngoingRequests(10_000));
  }

  /** Answers with the id of its process. */
  public static Application process() {
    Buffer body = Buffer.buffer("%-32d".formatted(ProcessHandle.current().pid()));
    AsyncHandler handler =
        (request, context) -> Future.succeededFuture(Response.of(200, "text/plain", body));
    return Application.of(
        Deployment.of("no-op", replica -> handler).withMaxOngoingRequests(10_000));
  }

  /** Answers with the body of the request. */
  public static Application echo() {
    AsyncHandler handler =
        (request, context) ->
            Future.succeededFuture(Response.of(200, "text/plain", request.bytes()));
    return Application.of(Deployment.of("echo", replica -> handler).withMaxOngoingRequests(10_000));
  }

  /** Never answers: for a deployment that is full. */
  public static Application busy() {
    AsyncHandler handler = (request, context) -> Promise.<Response>promise().future();
    return Application.of(Deployment.of("busy", replica -> handler).withMaxOngoingRequests(1));
  }
}

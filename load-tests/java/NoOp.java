import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;

/** An application that answers at once with 32 bytes. */
public final class NoOp {
  private NoOp() {}

  /** Named by the configuration; slots enough that no request waits. */
  public static Application build() {
    Buffer body = Buffer.buffer("0123456789abcdef0123456789abcdef");
    AsyncHandler handler =
        (request, context) -> Future.succeededFuture(Response.of(200, "text/plain", body));
    return Application.of(
        Deployment.of("no-op", replica -> handler).withMaxOngoingRequests(1000));
  }
}

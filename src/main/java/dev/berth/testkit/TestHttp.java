package dev.berth.testkit;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.protocol.RequestOrigin;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.routing.HandleCall;
import dev.berth.routing.handle.RoutedHandle;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;

/**
 * A client of the applications under test with the semantics of HTTP, without a socket. The longest
 * matching {@code route_prefix} selects the application; a failure is a response with its status.
 *
 * <pre>{@code
 * Response response = berth.http().get("/items/1");
 * assertEquals(200, response.status());
 * assertEquals("item 1", berth.text(response));
 * }</pre>
 */
public final class TestHttp {
  private final TestBerth berth;
  private final TestApplications applications;
  private final RequestOrigin origin;

  TestHttp(TestBerth berth, TestApplications applications, RequestOrigin origin) {
    this.berth = berth;
    this.applications = applications;
    this.origin = origin;
  }

  /**
   * Returns a client of another origin, as a trusted proxy would name it. By default the address is
   * {@code 127.0.0.1} and the scheme {@code http}. The Host header is the host.
   */
  public TestHttp from(String clientAddress, String scheme) {
    return new TestHttp(berth, applications, new RequestOrigin(clientAddress, scheme, null));
  }

  /**
   * Sends a GET request, as {@link #send} does.
   *
   * @param target the path, optionally with a query
   * @param headers alternating names and values
   */
  public Response get(String target, String... headers) {
    return send(Request.get(target).withHeaders(Headers.of(headers)));
  }

  /** Sends a POST request, as {@link #send} does. */
  public Response post(String target, String body, String... headers) {
    Buffer bytes = Buffer.buffer(body);
    Headers all = Headers.of(headers).with("content-length", Integer.toString(bytes.length()));
    return send(Request.post(target, bytes).withHeaders(all));
  }

  /**
   * Sends a request, and runs ready tasks until the head of the response arrives. {@link
   * TestBerth#text} reads its body.
   *
   * @throws AssertionError when no response arrives within the patience of the test
   */
  public Response send(Request request) {
    return berth.await(start(request));
  }

  /** Sends a request whose response may arrive later, as with a streamed body. */
  public Future<Response> start(Request request) {
    DeploymentId ingress = applications.ingressOf(request.path());
    if (ingress == null) {
      return Future.succeededFuture(text(404, "Path '" + request.path() + "' not found."));
    }
    boolean bodiless = request.method().equals("HEAD");
    RoutedHandle handle = (RoutedHandle) berth.handle(ingress.toString());
    HandleCall call =
        new HandleCall(handle.leg(), handle.loop()) {
          @Override
          public RequestOrigin origin() {
            return origin;
          }
        };
    return handle
        .start(request, call)
        .future()
        .map(response -> received(response, bodiless))
        .otherwise(TestHttp::responseTo);
  }

  private static Response received(Response response, boolean bodiless) {
    Headers sent = response.headers();
    Headers[] kept = {Headers.empty()};
    sent.forEach(
        (name, value) -> {
          if (!name.equalsIgnoreCase("x-berth-route")) { // as at the ingress
            kept[0] = kept[0].with(name, value);
          }
        });
    if (bodiless && response.body() instanceof Response.Body.Received received) {
      received.cancel().run();
    }
    return bodiless
        ? Response.of(response.status(), kept[0], new Response.Body.Whole(Buffer.buffer()))
        : response.withHeaders(kept[0]);
  }

  private static Response responseTo(Throwable failure) {
    if (failure instanceof BerthException known) {
      HttpErrorResponse response = HttpErrorResponse.of(known.kind());
      return text(response.status(), response.message());
    }
    throw new IllegalStateException(failure);
  }

  private static Response text(int status, String text) {
    return Response.text(text).withStatus(status);
  }
}

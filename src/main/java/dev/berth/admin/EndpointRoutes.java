package dev.berth.admin;

import dev.berth.api.Headers;
import dev.berth.protocol.port.Endpoint;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.net.SocketAddress;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Serves an {@link Endpoint} on the admin port: reads a whole request within limits of size and
 * time, notifies the endpoint when its client disconnects, and writes the response.
 */
public final class EndpointRoutes implements AdminRoutes {
  /** Maximum size of a body in bytes; a body holds only a few numbers. */
  private static final int MAX_BODY_BYTES = 16 << 10;

  private static final long MAX_BODIES_BYTES = 4L << 20;

  private static final List<String> FOR_UNKNOWN = List.of("Idempotency-Key", "Authorization");

  /**
   * Headers for callers that the admin server knows: their token is not for the endpoint to check.
   */
  private static final List<String> FOR_KNOWN = List.of("Idempotency-Key");

  private final RequestBodyReader bodies = new RequestBodyReader(MAX_BODY_BYTES, MAX_BODIES_BYTES);
  private final String under;
  private final Endpoint endpoint;

  /**
   * @param under path pattern of the endpoint, {@code /api/v1/applications/*}
   */
  public EndpointRoutes(String under, Endpoint endpoint) {
    this.under = under;
    this.endpoint = endpoint;
  }

  @Override
  public void mount(Router router) {
    router.route(under).putMetadata(AdminIndex.ANSWERS, endpoint.paths()).handler(this::handle);
  }

  private void handle(RoutingContext context) {
    if (endpoint.answers(context.request().path())) {
      bodies.read(context).onComplete(body -> ask(context, body), context::fail);
    } else {
      context.next();
    }
  }

  private void ask(RoutingContext context, RequestBodyReader.AdminRequestBody body) {
    HttpServerRequest request = context.request();
    SocketAddress peer = request.remoteAddress();
    String known = AdminAuthFilter.knownCallerOf(context);
    Endpoint.EndpointCall exchange =
        endpoint.handle(
            new Endpoint.EndpointRequest(
                request.method().name(),
                request.path(),
                headersOf(request.headers(), known == null ? FOR_UNKNOWN : FOR_KNOWN),
                body.bytes(),
                peer == null || peer.hostAddress() == null ? "" : peer.hostAddress(),
                known));
    body.release(); // the endpoint has read it
    new EndpointResponder(context.response(), exchange).start(context);
  }

  /** A request awaiting its response. Confined to the event loop of its connection. */
  private static final class EndpointResponder {
    private final HttpServerResponse response;
    private final Endpoint.EndpointCall exchange;
    private boolean over; // responded, or the client disconnected

    EndpointResponder(HttpServerResponse response, Endpoint.EndpointCall exchange) {
      this.response = response;
      this.exchange = exchange;
    }

    void start(RoutingContext context) {
      context.addEndHandler(ended -> onClientClosed());
      var here = context.vertx().getOrCreateContext();
      exchange.answer().onSuccess(answer -> here.runOnContext(run -> write(answer)));
    }

    private void write(Endpoint.EndpointResponse answer) {
      if (over) {
        return;
      }
      over = true;
      response.setStatusCode(answer.status());
      answer.headers().forEach(response::putHeader);
      (answer.body().length() == 0 ? response.end() : response.end(answer.body()))
          .onFailure(notSent -> exchange.clientGone());
    }

    private void onClientClosed() {
      if (!over) {
        over = true;
        exchange.clientGone();
      }
    }
  }

  /** Returns the headers that an endpoint reads. */
  private static Headers headersOf(MultiMap received, List<String> names) {
    List<String> pairs = new ArrayList<>();
    for (String name : names) {
      received.getAll(name).forEach(value -> Collections.addAll(pairs, name, value));
    }
    return Headers.of(pairs.toArray(String[]::new));
  }
}

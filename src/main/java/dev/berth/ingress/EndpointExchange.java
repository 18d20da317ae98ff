package dev.berth.ingress;

import dev.berth.api.Request;
import dev.berth.protocol.port.Endpoint;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.jspecify.annotations.Nullable;

/**
 * Exchange whose request an {@link Endpoint} of the instance handles, with the whole body in
 * memory. Connections treat it as any other exchange. Confined to the event loop.
 */
final class EndpointExchange extends HttpExchange {
  /** Maximum bytes of a request body, which holds only a few numbers. */
  private static final int MAX_BODY_BYTES = 16 << 10;

  private final Endpoint endpoint;
  private final String path;
  private Endpoint.@Nullable EndpointCall asked;

  EndpointExchange(
      ConnectionPort connection,
      HttpServerRequest http,
      ResolvedRoute route,
      Endpoint endpoint,
      String path) {
    super(connection, http, route, null);
    this.endpoint = endpoint;
    this.path = path;
  }

  @Override
  void call(Request.Body body, long nowNanos) {
    if (!(body instanceof Request.Body.Whole whole) || whole.bytes().length() > MAX_BODY_BYTES) {
      answer.sendAndClose(
          // or a streamed body: unknown length, slow arrival
          ErrorResponses.bodyTooLarge(MAX_BODY_BYTES));
      return;
    }
    become(ExchangeState.CALLING);
    Endpoint.EndpointCall exchange =
        endpoint.handle(
            new Endpoint.EndpointRequest(
                http.method().name(),
                path,
                new ReceivedHeaders(http.headers()),
                whole.bytes(),
                origin().client(),
                certificateOf(http)));
    asked = exchange;
    exchange.answer().onSuccess(reply -> loop.later(() -> send(reply)));
  }

  private static @Nullable String certificateOf(HttpServerRequest http) {
    if (!http.isSSL() || http.sslSession() == null) {
      return null;
    }
    try {
      return "certificate " + http.sslSession().getPeerPrincipal().getName();
    } catch (SSLPeerUnverifiedException none) {
      return null;
    }
  }

  private void send(Endpoint.EndpointResponse reply) {
    if (!isOver()) {
      reply.headers().forEach(http.response()::putHeader);
      Buffer body = reply.body().length() == 0 ? BodyReader.EMPTY : reply.body();
      answer
          .send(reply.status(), ErrorResponses.JSON, body)
          .onFailure(notSent -> goneBeforeItsAnswer());
    }
  }

  @Override
  void clientGone() {
    boolean unanswered = !isOver();
    super.clientGone();
    if (unanswered) {
      goneBeforeItsAnswer();
    }
  }

  private void goneBeforeItsAnswer() {
    if (asked != null) {
      asked.clientGone();
    }
  }
}

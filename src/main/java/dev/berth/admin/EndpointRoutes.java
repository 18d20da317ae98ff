package dev.berth.admin;

import dev.berth.api.Headers;
import dev.berth.protocol.port.Endpoint;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.net.SocketAddress;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An {@link Endpoint} on the admin port: reads a request whole, within bounds of size and time,
 * tells the endpoint when its client goes, and writes the answer.
 */
public final class EndpointRoutes implements AdminRoutes {
  /** Of a body; what is asked for here is a few numbers. */
  private static final int MAX_BODY_BYTES = 16 << 10;

  private static final long BODY_TIMEOUT_MS = 10_000;

  private final String under;
  private final Endpoint endpoint;

  /**
   * @param under the path below which the endpoint is asked, {@code /api/v1/applications/*}
   */
  public EndpointRoutes(String under, Endpoint endpoint) {
    this.under = under;
    this.endpoint = endpoint;
  }

  @Override
  public void mount(Router router) {
    router.route(under).handler(this::handle);
  }

  private void handle(RoutingContext context) {
    if (!endpoint.answers(context.request().path())) {
      context.next();
    } else if (isFromAnotherSite(context.request())) {
      JsonErrors.send(
          context,
          403,
          "cross_site",
          "Origin: another site (expected: none, or this server)",
          "A page of another site may not use what listens on this machine.");
    } else {
      new Reading(context).start();
    }
  }

  /** A page anywhere can have a browser here send a POST, though it cannot read the answer. */
  private static boolean isFromAnotherSite(HttpServerRequest request) {
    String origin = request.getHeader(HttpHeaders.ORIGIN);
    String host = request.getHeader(HttpHeaders.HOST);
    return origin != null && (host == null || !origin.endsWith("://" + host));
  }

  /** One request. On the event loop of its connection. */
  private final class Reading {
    private final RoutingContext context;
    private final HttpServerRequest request;
    private final Vertx vertx;
    private final Buffer body = Buffer.buffer();
    private long timer;
    private boolean over; // an answer is out, or no one is there to get it
    private Endpoint.@Nullable Exchange exchange;

    Reading(RoutingContext context) {
      this.context = context;
      this.request = context.request();
      this.vertx = context.vertx();
    }

    void start() {
      timer =
          vertx.setTimer(
              BODY_TIMEOUT_MS, late -> refuse(408, "body_too_slow", "body: not whole after 10 s"));
      context.response().closeHandler(closed -> gone());
      context.response().exceptionHandler(failed -> gone());
      request.handler(this::piece).endHandler(end -> whole()).exceptionHandler(failed -> gone());
    }

    private void piece(Buffer piece) {
      if (over) {
        return;
      }
      if (body.length() + piece.length() > MAX_BODY_BYTES) {
        refuse(
            413,
            "body_too_large",
            "body: longer than " + MAX_BODY_BYTES + " bytes (expected: at most that)");
      } else {
        body.appendBuffer(piece);
      }
    }

    /** What still comes of the body means nothing, so the connection is of no more use. */
    private void refuse(int status, String code, String message) {
      if (!over) {
        over = true;
        vertx.cancelTimer(timer);
        HttpConnection connection = request.connection();
        context.response().putHeader(HttpHeaders.CONNECTION, "close");
        context.addEndHandler(ended -> connection.close());
        JsonErrors.send(context, status, code, message);
      }
    }

    private void whole() {
      vertx.cancelTimer(timer);
      if (over) {
        return;
      }
      SocketAddress peer = request.remoteAddress();
      Endpoint.Exchange asked =
          endpoint.handle(
              new Endpoint.Asked(
                  request.method().name(),
                  request.path(),
                  headersOf(request.headers()),
                  body,
                  peer == null || peer.hostAddress() == null ? "" : peer.hostAddress(),
                  null));
      exchange = asked;
      var here = vertx.getOrCreateContext();
      asked.answer().onSuccess(answer -> here.runOnContext(run -> write(answer)));
    }

    private void write(Endpoint.Answer answer) {
      if (over) {
        return;
      }
      over = true;
      HttpServerResponse response = context.response();
      response.setStatusCode(answer.status());
      answer.headers().forEach(response::putHeader);
      (answer.body().length() == 0 ? response.end() : response.end(answer.body()))
          .onFailure(
              notSent -> {
                if (exchange != null) {
                  exchange.clientGone();
                }
              });
    }

    private void gone() {
      if (!over) {
        over = true;
        vertx.cancelTimer(timer);
        if (exchange != null) {
          exchange.clientGone();
        }
      }
    }
  }

  /** Those that an endpoint reads. */
  private static Headers headersOf(MultiMap received) {
    List<String> pairs = new ArrayList<>();
    for (String name : List.of("Idempotency-Key", "Authorization")) {
      for (String value : received.getAll(name)) {
        pairs.add(name);
        pairs.add(value);
      }
    }
    return Headers.of(pairs.toArray(String[]::new));
  }
}

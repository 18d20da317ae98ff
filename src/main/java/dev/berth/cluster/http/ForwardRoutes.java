package dev.berth.cluster.http;

import dev.berth.admin.AdminAuthFilter;
import dev.berth.admin.AdminRefusal;
import dev.berth.admin.AdminRoutes;
import dev.berth.admin.RequestBodyReader;
import dev.berth.admin.ServeRoutes;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.config.ServeConfig;
import dev.berth.metrics.Meters;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.ControllerCommands;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.StreamResetException;
import io.vertx.core.streams.ReadStream;
import io.vertx.core.streams.WriteStream;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Forwards requests that this node does not handle to the control node. A request that was already
 * forwarded is refused with status 508. Without a control node the status is 503.
 *
 * <p>Bodies are streamed in both directions as fast as they are read. Only headers with a meaning
 * for the admin API are copied. Declarations are first read on this node, because they name jars by
 * paths of this node: {@link DeployJarForwarder}.
 *
 * <p>Confined to the control loop, as are the client's connections: a pipe between two loops may
 * stall.
 */
public final class ForwardRoutes implements AdminRoutes {
  /** Header with the name of the forwarding node. */
  static final String BY = "Berth-Forwarded-By";

  /**
   * Maximum number of requests in flight; more are refused with a Retry-After. The other
   * connections are reserved for code and for gathered responses, which have shorter timeouts than
   * a client that sends its body slowly.
   */
  static final int MAX_CONCURRENT = PeerClient.MAX_CONNECTIONS / 2;

  private static final String NO_CONTROL = "no_control_node";

  /** Headers that are copied, of requests and of responses. */
  private static final List<String> HEADERS =
      List.of(
          "Accept",
          "Accept-Ranges",
          "Allow",
          "Cache-Control",
          "Content-Length",
          "Content-Range",
          "Content-Type",
          "Location",
          "Range",
          "Retry-After",
          "X-Content-Type-Options",
          ControllerCommands.FILE,
          ControllerCommands.ID);

  private final String self;
  private final ControlNodeClient control;
  private final ServeConfig file;
  private final RequestBodyReader bodies = RequestBodyReader.ofDeclarations();
  volatile int underWay; // written on the control loop

  /**
   * Creates the routes.
   *
   * @param self this node's name
   * @param file configuration file of the instance
   */
  public ForwardRoutes(String self, ControlNodeClient control, ServeConfig file) {
    this.self = self;
    this.control = control;
    this.file = file;
  }

  /** Registers the metrics. */
  public void show(Meters meters) {
    meters.add(into -> into.gauge("berth_forwarded_requests", underWay, MAX_CONCURRENT));
    bodies.show(meters);
  }

  @Override
  public void mount(Router router) {
    String all = "/api/v1/applications";
    router
        .put(ServeRoutes.APPLICATIONS)
        .handler(context -> declare(context, null))
        .failureHandler(ServeRoutes.refusingInText());
    router.put(all).handler(context -> declare(context, null));
    router
        .put(all + "/:application")
        .handler(context -> declare(context, context.pathParam("application")));
    router.route().last().handler(this::forward);
  }

  private void forward(RoutingContext context) {
    NodeInfo peer = requireControl(context);
    context.request().pause();
    answer(context, forward(context, peer, null));
  }

  /**
   * Forwards a declaration.
   *
   * @param application application of the entry in the body; null for a whole configuration
   */
  private void declare(RoutingContext context, @Nullable String application) {
    NodeInfo peer = requireControl(context);
    DeployJarForwarder jars = new DeployJarForwarder(context.vertx(), control, file);
    answer(
        context,
        bodies.use(
            context,
            (bytes, text) ->
                jars.send(peer, text, application)
                    .compose(named -> forward(context, peer, named == null ? bytes : named))));
  }

  private NodeInfo requireControl(RoutingContext context) {
    String by = context.request().getHeader(BY);
    if (by != null) {
      String why = "%s takes %s for the control node (expected: the current one)";
      throw new AdminRefusal(508, "loop_detected", why.formatted(by, self));
    }
    NodeInfo peer = control.known().get();
    if (peer == null || peer.name().equals(self)) {
      throw later(context, NO_CONTROL, "There is no control node now.");
    }
    if (underWay >= MAX_CONCURRENT) {
      throw later(
          context,
          "too_many_requests",
          underWay + " requests are being forwarded (expected: at most " + MAX_CONCURRENT + ")");
    }
    return peer;
  }

  private void answer(RoutingContext context, Future<Void> forwarded) {
    underWay++;
    forwarded.onComplete(over -> underWay--).onFailure(failed -> broken(context, failed));
  }

  /**
   * Forwards a request.
   *
   * @param body replaces the request's body; null to stream the request's own
   */
  private Future<Void> forward(RoutingContext context, NodeInfo peer, @Nullable Buffer body) {
    HttpServerRequest request = context.request();
    return control
        .ask(peer, request.method(), request.uri())
        .compose(forwarded -> exchange(context, forwarded, body));
  }

  /** Returns a refusal with status 503 of a problem that may end within a second. */
  static AdminRefusal later(RoutingContext context, String code, String why) {
    context.response().putHeader(HttpHeaders.RETRY_AFTER, "1");
    return new AdminRefusal(503, code, why);
  }

  private static void broken(RoutingContext context, Throwable failed) {
    if (context.response().headWritten() || context.response().closed()) {
      context.request().connection().close(); // marks the body as incomplete
    } else if (failed instanceof AdminRefusal || failed instanceof CommandRejectedException) {
      context.fail(failed); // refused by this node
    } else {
      String why = failed instanceof StreamResetException ? "no reply" : failed.getMessage();
      RequestBodyReader.readNoMore(context); // a client may read only after it has sent all
      context.fail(later(context, NO_CONTROL, "The control node does not respond: " + why));
    }
  }

  private Future<Void> exchange(
      RoutingContext context, HttpClientRequest forwarded, @Nullable Buffer body) {
    HttpServerRequest request = context.request();
    if (context.response().closed()) { // its close handler would never run
      return forwarded.reset().mapEmpty();
    }
    copy(request.headers(), forwarded.headers());
    forwarded
        .putHeader(BY, self)
        .putHeader(AdminAuthFilter.FOR, AdminAuthFilter.callerOf(context) + " by " + self);
    context.addEndHandler(
        ended -> {
          if (ended.failed()) { // the client left
            forwarded.reset();
          }
        });
    if (body != null) {
      forwarded.putHeader(HttpHeaders.CONTENT_LENGTH, Integer.toString(body.length())).end(body);
      return forwarded.response().compose(answer -> answer(context, answer));
    }
    forwarded.setChunked(request.headers().contains(HttpHeaders.TRANSFER_ENCODING));
    RequestBodyReader.askFor(request);
    pipe(request, forwarded).onFailure(failed -> forwarded.reset());
    return forwarded.response().compose(answer -> answer(context, answer));
  }

  private static Future<Void> answer(RoutingContext context, HttpClientResponse answer) {
    HttpServerResponse response = context.response().setStatusCode(answer.statusCode());
    copy(answer.headers(), response.headers());
    if (!context.request().isEnded()) {
      RequestBodyReader.readNoMore(context);
      context.addEndHandler(ended -> answer.request().connection().close());
    }
    if (context.request().method() == HttpMethod.HEAD) {
      return response.end();
    }
    response.setChunked(!response.headers().contains(HttpHeaders.CONTENT_LENGTH));
    return pipe(answer, response);
  }

  private static Future<Void> pipe(ReadStream<Buffer> from, WriteStream<Buffer> to) {
    return from.pipe().endOnFailure(false).to(to);
  }

  private static void copy(MultiMap from, MultiMap to) {
    for (String name : HEADERS) {
      if (from.contains(name)) {
        to.set(name, from.getAll(name));
      }
    }
  }
}

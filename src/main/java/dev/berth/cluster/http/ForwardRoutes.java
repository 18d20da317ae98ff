package dev.berth.cluster.http;

import dev.berth.admin.AdminGate;
import dev.berth.admin.AdminRefusal;
import dev.berth.admin.AdminRoutes;
import dev.berth.admin.Bodies;
import dev.berth.admin.ServeRoutes;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.config.ServeConfig;
import dev.berth.metrics.Meters;
import dev.berth.view.CommandRefused;
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
 * Has the control node answer what this node does not answer itself, once: what was forwarded
 * already is refused with 508. Bodies pass both ways as fast as they are read, and of headers those
 * that have a meaning for the admin API. Declarations alone are read here first, since they name
 * jars by paths of this node: {@link DeclaredJars}. While there is no control node the answer is
 * 503. Belongs to the control loop, as the client's connections do: between two loops a pipe may
 * stand still.
 */
public final class ForwardRoutes implements AdminRoutes {
  /** Which node a request was forwarded by. */
  static final String BY = "Berth-Forwarded-By";

  /**
   * Requests under way; more are asked to come again. They leave connections for code and for what
   * is gathered, whose patience is shorter than that of a client which sends its body slowly.
   */
  static final int MOST = PeerClient.MOST_CONNECTIONS / 2;

  private static final String NO_CONTROL = "no_control_node";

  /** What has a meaning, of a request or of an answer. */
  private static final List<String> HEADERS =
      List.of(
          "Accept",
          "Accept-Ranges",
          "Allow",
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
  private final ControlNode control;
  private final ServeConfig file;
  private final Bodies bodies = Bodies.ofDeclarations();
  private volatile int underWay; // written by the control loop

  /**
   * @param self this node's name
   * @param file what the instance was started with
   */
  public ForwardRoutes(String self, ControlNode control, ServeConfig file) {
    this.self = self;
    this.control = control;
    this.file = file;
  }

  /** Shows its numbers. */
  public void show(Meters meters) {
    meters.addGauge("berth_forwarded_requests", this::underWay);
    meters.addGauge("berth_forwarded_requests_limit", () -> MOST);
    bodies.show(meters);
  }

  /** Any thread. */
  int underWay() {
    return underWay;
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
   * @param application whose entry the body is; null for a whole configuration
   */
  private void declare(RoutingContext context, @Nullable String application) {
    NodeInfo peer = requireControl(context);
    DeclaredJars jars = new DeclaredJars(context.vertx(), control, file);
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
      String why = "%s takes %s for the control node (expected: the one that is)";
      throw new AdminRefusal(508, "loop_detected", why.formatted(by, self));
    }
    NodeInfo peer = control.known().get();
    if (peer == null || peer.name().equals(self)) {
      throw later(context, NO_CONTROL, "There is no control node now.");
    }
    if (underWay >= MOST) {
      throw later(
          context,
          "too_many_requests",
          underWay + " requests are being forwarded (expected: at most " + MOST + ")");
    }
    return peer;
  }

  private void answer(RoutingContext context, Future<Void> forwarded) {
    underWay++;
    forwarded.onComplete(over -> underWay--).onFailure(failed -> broken(context, failed));
  }

  /**
   * @param body null for that of the request, as it comes
   */
  private Future<Void> forward(RoutingContext context, NodeInfo peer, @Nullable Buffer body) {
    HttpServerRequest request = context.request();
    return control
        .ask(peer, request.method(), request.uri())
        .compose(forwarded -> exchange(context, forwarded, body));
  }

  /** What may be over in a second. */
  static AdminRefusal later(RoutingContext context, String code, String why) {
    context.response().putHeader(HttpHeaders.RETRY_AFTER, "1");
    return new AdminRefusal(503, code, why);
  }

  private static void broken(RoutingContext context, Throwable failed) {
    if (context.response().headWritten() || context.response().closed()) {
      context.request().connection().close(); // so that nobody takes it for the whole
    } else if (failed instanceof AdminRefusal || failed instanceof CommandRefused) {
      context.fail(failed); // by this node
    } else {
      String why = failed instanceof StreamResetException ? "it is not heard" : failed.getMessage();
      Bodies.readNoMore(context); // a client may read nothing before it has sent all
      context.fail(later(context, NO_CONTROL, "The control node does not answer: " + why));
    }
  }

  private Future<Void> exchange(
      RoutingContext context, HttpClientRequest forwarded, @Nullable Buffer body) {
    HttpServerRequest request = context.request();
    if (context.response().closed()) { // already, and nothing would say so any more
      return forwarded.reset().mapEmpty();
    }
    copy(request.headers(), forwarded.headers());
    forwarded
        .putHeader(BY, self)
        .putHeader(AdminGate.FOR, AdminGate.callerOf(context) + " by " + self);
    context.response().closeHandler(gone -> forwarded.reset());
    if (body != null) {
      forwarded.putHeader(HttpHeaders.CONTENT_LENGTH, Integer.toString(body.length())).end(body);
      return forwarded.response().compose(answer -> answer(context, answer));
    }
    forwarded.setChunked(request.headers().contains(HttpHeaders.TRANSFER_ENCODING));
    Bodies.askFor(request);
    pipe(request, forwarded).onFailure(failed -> forwarded.reset());
    return forwarded.response().compose(answer -> answer(context, answer));
  }

  private static Future<Void> answer(RoutingContext context, HttpClientResponse answer) {
    HttpServerResponse response = context.response().setStatusCode(answer.statusCode());
    copy(answer.headers(), response.headers());
    if (!context.request().isEnded()) {
      Bodies.readNoMore(context);
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

package dev.berth.cluster.http;

import dev.berth.admin.AdminGate;
import dev.berth.admin.AdminRefusal;
import dev.berth.admin.AdminRoutes;
import dev.berth.metrics.Meters;
import dev.berth.protocol.port.ControllerCommands;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.streams.ReadStream;
import io.vertx.core.streams.WriteStream;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Has the control node answer what this node does not answer itself, once: what was forwarded
 * already is refused with 508. Bodies pass both ways as fast as they are read, and of headers those
 * that have a meaning for the admin API. While there is no control node the answer is 503. Belongs
 * to the control loop, as the client's connections do: between two loops a pipe may stand still.
 */
public final class ForwardRoutes implements AdminRoutes {
  /** Which node a request was forwarded by. */
  static final String BY = "Berth-Forwarded-By";

  /**
   * Requests under way; more are asked to come again. They leave connections for code and for what
   * is gathered, whose patience is shorter than that of a client which sends its body slowly.
   */
  static final int MOST = PeerClient.MOST_CONNECTIONS / 2;

  /** How long nothing may come of an answer: a change may wait for those before it. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static final String NO_CONTROL = "no_control_node";

  private static final List<String> ASKED =
      List.of(
          "Accept",
          "Content-Length",
          "Content-Type",
          "Range",
          ControllerCommands.FILE,
          ControllerCommands.ID);
  private static final List<String> ANSWERED =
      List.of(
          "Accept-Ranges",
          "Allow",
          "Content-Length",
          "Content-Range",
          "Content-Type",
          "Location",
          "Retry-After",
          "X-Content-Type-Options");

  private final String self;
  private final PeerClient client;
  private final Supplier<@Nullable Peer> control;
  private volatile int underWay; // written by the control loop

  /**
   * @param self this node's name
   * @param control null while it is not known
   */
  public ForwardRoutes(String self, PeerClient client, Supplier<@Nullable Peer> control) {
    this.self = self;
    this.client = client;
    this.control = control;
  }

  /** Shows its numbers. */
  public void show(Meters meters) {
    meters.addGauge("berth_forwarded_requests", this::underWay);
    meters.addGauge("berth_forwarded_requests_limit", () -> MOST);
  }

  /** Any thread. */
  int underWay() {
    return underWay;
  }

  @Override
  public void mount(Router router) {
    router.route().last().handler(this::forward);
  }

  private void forward(RoutingContext context) {
    HttpServerRequest request = context.request();
    String by = request.getHeader(BY);
    if (by != null) {
      String why = "%s takes %s for the control node (expected: the one that is)";
      throw new AdminRefusal(508, "loop_detected", why.formatted(by, self));
    }
    Peer peer = control.get();
    if (peer == null || peer.name().equals(self)) {
      throw later(context, NO_CONTROL, "There is no control node now.");
    }
    if (underWay >= MOST) {
      throw later(
          context,
          "too_many_requests",
          underWay + " requests are being forwarded (expected: at most " + MOST + ")");
    }
    request.pause();
    underWay++;
    client
        .request(peer, request.method(), request.uri(), PATIENCE)
        .compose(
            forwarded ->
                exchange(context, forwarded).recover(failed -> PeerClient.failed(peer, failed)))
        .onComplete(over -> underWay--)
        .onFailure(failed -> broken(context, failed));
  }

  /** What may be over in a second. */
  static AdminRefusal later(RoutingContext context, String code, String why) {
    context.response().putHeader(HttpHeaders.RETRY_AFTER, "1");
    return new AdminRefusal(503, code, why);
  }

  private static void broken(RoutingContext context, Throwable failed) {
    if (context.response().headWritten() || context.response().closed()) {
      context.request().connection().close(); // so that nobody takes it for the whole
    } else {
      context.fail(
          later(context, NO_CONTROL, "The control node does not answer: " + failed.getMessage()));
    }
  }

  private Future<Void> exchange(RoutingContext context, HttpClientRequest forwarded) {
    HttpServerRequest request = context.request();
    if (context.response().closed()) { // already, and nothing would say so any more
      return forwarded.reset().mapEmpty();
    }
    copy(request.headers(), ASKED, forwarded.headers());
    forwarded
        .putHeader(BY, self)
        .putHeader(AdminGate.FOR, AdminGate.callerOf(context) + " by " + self);
    forwarded.setChunked(request.headers().contains(HttpHeaders.TRANSFER_ENCODING));
    if ("100-continue".equalsIgnoreCase(request.getHeader(HttpHeaders.EXPECT))) {
      context.response().writeContinue();
    }
    context.response().closeHandler(gone -> forwarded.reset());
    pipe(request, forwarded).onFailure(failed -> forwarded.reset());
    return forwarded.response().compose(answer -> answer(context, answer));
  }

  private static Future<Void> answer(RoutingContext context, HttpClientResponse answer) {
    HttpServerResponse response = context.response().setStatusCode(answer.statusCode());
    copy(answer.headers(), ANSWERED, response.headers());
    if (!context.request().isEnded()) { // what still comes of it means nothing
      response.putHeader(HttpHeaders.CONNECTION, HttpHeaders.CLOSE);
      context.addEndHandler(ended -> context.request().connection().close());
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

  private static void copy(MultiMap from, List<String> names, MultiMap to) {
    for (String name : names) {
      if (from.contains(name)) {
        to.set(name, from.getAll(name));
      }
    }
  }
}

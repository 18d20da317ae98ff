package dev.berth.admin.page;

import dev.berth.admin.AdminRefusal;
import dev.berth.admin.AdminResponses;
import dev.berth.admin.AdminRoutes;
import dev.berth.admin.ExplainRing;
import dev.berth.admin.RequestBodyReader;
import dev.berth.api.DeploymentId;
import dev.berth.config.HttpOptions;
import dev.berth.config.admin.PlayOptions;
import dev.berth.config.keys.Settings;
import dev.berth.metrics.Meters;
import dev.berth.net.tls.TlsMaterial;
import dev.berth.view.CommandRejectedException;
import io.vertx.core.Future;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Serves {@code POST /api/v1/play}: sends a request of an operator to the data port of this
 * instance, and streams the response with its explanation. Also serves {@code POST
 * /api/v1/applications/{app}/deployments/{dep}/explain-next}, which explains the next request of a
 * deployment at this instance. Confined to the control loop.
 */
public final class PlayRoutes implements AdminRoutes {
  private static final int MAX_BODY_BYTES = 1 << 20;
  private static final int MAX_HEADER_BYTES = 64 << 10; // of a response
  private static final int CONNECT_TIMEOUT_MS = 5_000;
  private static final String UNAVAILABLE = "unavailable";

  private final Settings settings;
  private final DataPort port;
  private final ExplainRing explained;
  private final Predicate<DeploymentId> explainNext;
  private final RequestBodyReader bodies;
  private final LongAdder refused = new LongAdder();
  private volatile int playing; // written by the control loop

  /**
   * The data port of this instance.
   *
   * @param port 0 before it listens
   * @param tls contents of its certificate; null for plain HTTP. Blocks.
   */
  public record DataPort(IntSupplier port, Supplier<@Nullable TlsMaterial> tls) {}

  /**
   * @param settings of the instance
   * @param explained explanations of this instance
   * @param explainNext explains the next request of a deployment; returns false for an unknown one
   */
  public PlayRoutes(
      Settings settings,
      DataPort port,
      ExplainRing explained,
      Predicate<DeploymentId> explainNext,
      Meters meters) {
    this.settings = settings;
    this.port = port;
    this.explained = explained;
    this.explainNext = explainNext;
    int most = settings.get(PlayOptions.MAX_CONCURRENT);
    this.bodies = new RequestBodyReader(MAX_BODY_BYTES, (long) Math.max(1, most) * MAX_BODY_BYTES);
    meters.add(into -> into.gauge("berth_admin_plays", playing, most));
    meters.addCounter("berth_admin_plays_refused", refused::sum);
  }

  @Override
  public void mount(Router router) {
    router.post("/api/v1/play").handler(this::play);
    router
        .post("/api/v1/applications/:application/deployments/:deployment/explain-next")
        .handler(this::explainNext);
  }

  private void explainNext(RoutingContext context) {
    DeploymentId deployment =
        new DeploymentId(context.pathParam("application"), context.pathParam("deployment"));
    if (!explainNext.test(deployment)) {
      throw CommandRejectedException.notFound(
          "deployment: %s (expected: a deployment with a route at this instance)", deployment);
    }
    AdminResponses.accepted(context, "explain next");
    String text = "The next request of the deployment at this instance will be explained.";
    AdminResponses.json(context, 202, new JsonObject().put("message", text));
  }

  private void play(RoutingContext context) {
    int most = settings.get(PlayOptions.MAX_CONCURRENT);
    if (playing >= most) {
      refused.increment();
      context.response().putHeader("Retry-After", "1");
      String why = playing + " such requests in progress (expected: at most " + most + ")";
      throw new AdminRefusal(503, "too_many_plays", why, "See berth.admin.play.max_concurrent.");
    }
    playing++;
    PlayExchange exchange = new PlayExchange(context, settings, explained, () -> playing--);
    bodies
        .use(
            context,
            (bytes, text) -> context.vertx().executeBlocking(() -> PlayRequest.of(text), false))
        .compose(
            request ->
                connect(context)
                    .onSuccess(client -> exchange.start(client, target(request), request.body()))
                    .onSuccess(sent -> AdminResponses.accepted(context, "play", request.subject())))
        .onFailure(exchange::refuse);
  }

  /** Returns a client that reaches the data port only, and accepts its certificate only. */
  private Future<HttpClientAgent> connect(RoutingContext context) {
    if (port.port.getAsInt() == 0) {
      String why = "The data port does not listen yet.";
      return Future.failedFuture(new AdminRefusal(503, UNAVAILABLE, why));
    }
    return context
        .vertx()
        .executeBlocking(port.tls::get, false)
        .map(
            tls -> {
              HttpClientOptions options =
                  new HttpClientOptions()
                      .setKeepAlive(false)
                      .setConnectTimeout(CONNECT_TIMEOUT_MS)
                      .setMaxHeaderSize(MAX_HEADER_BYTES)
                      .setSsl(tls != null)
                      .setVerifyHost(false); // the certificate itself is compared
              if (tls != null) {
                options.setTrustOptions(tls.pinned());
              }
              return context.vertx().createHttpClient(options);
            });
  }

  private RequestOptions target(PlayRequest request) {
    String host = settings.get(HttpOptions.HOST);
    RequestOptions target =
        new RequestOptions()
            .setMethod(request.method())
            .setHost(host.equals("0.0.0.0") || host.equals("::") ? "127.0.0.1" : host)
            .setPort(port.port.getAsInt())
            .setURI(request.path());
    return target.setHeaders(request.headers().set("x-berth-explain", "1"));
  }
}

package dev.berth.admin;

import dev.berth.config.AdminOptions;
import dev.berth.config.BearerToken;
import dev.berth.config.keys.Settings;
import dev.berth.metrics.Meters;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.HttpServerOptions;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;

/**
 * The admin server of an instance. Deploy it on the control event loop: its health then answers
 * while ingress and replicas are blocked. What it answers is given to it, one {@link AdminRoutes}
 * for each area.
 */
public final class AdminVerticle extends VerticleBase {
  private final Settings options;
  private final Meters meters;
  private final List<AdminRoutes> routes;
  private final AdminListener listener;

  /**
   * @param options also who may ask
   * @param routes what it answers, area by area
   */
  public AdminVerticle(Settings options, Meters meters, List<AdminRoutes> routes) {
    this.options = options;
    this.meters = meters;
    this.routes = List.copyOf(routes);
    this.listener =
        new AdminListener(
            "berth.admin",
            new HttpServerOptions()
                .setHost(options.get(AdminOptions.HOST))
                .setPort(options.get(AdminOptions.PORT))
                .setHttp2ClearTextEnabled(options.get(AdminOptions.HTTP2)));
  }

  @Override
  public Future<?> start() {
    listener.show(meters, "berth_admin");
    return vertx
        .executeBlocking(
            () -> InetAddress.getByName(options.get(AdminOptions.HOST)).isLoopbackAddress())
        .compose(loopback -> listener.listen(vertx, gate(loopback)::check, routes));
  }

  @Override
  public Future<?> stop() {
    return listener.stop();
  }

  /** The port it listens on; the configured one unless that is 0. Valid once it is deployed. */
  public int port() {
    return listener.port();
  }

  private AdminGate gate(boolean loopback) {
    Map<String, String> secrets = BearerToken.secrets(options.get(AdminOptions.BEARER_TOKENS));
    return new AdminGate(new HostGuard(options.get(AdminOptions.HOST), loopback), secrets, meters);
  }
}

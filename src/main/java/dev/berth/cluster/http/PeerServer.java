package dev.berth.cluster.http;

import dev.berth.admin.AdminGate;
import dev.berth.admin.AdminListener;
import dev.berth.admin.AdminRoutes;
import dev.berth.metrics.Meters;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.ServerSSLOptions;
import java.util.List;

/**
 * The admin API of this node as other nodes ask it, on {@code berth.cluster.ports.https}. Who has a
 * certificate of the cluster's authority may ask everything. Deploy it on the control loop.
 */
public final class PeerServer extends VerticleBase {
  private final AdminListener listener;
  private final Meters meters;
  private final List<AdminRoutes> routes;

  /**
   * @param options host, port, and TLS that requires certificates of clients
   * @param routes what this node answers itself, area by area
   */
  public PeerServer(HttpServerOptions options, Meters meters, List<AdminRoutes> routes) {
    this.listener = new AdminListener("berth.cluster.ports.https", options);
    this.meters = meters;
    this.routes = List.copyOf(routes);
  }

  @Override
  public Future<?> start() {
    listener.show(meters, "berth_peer");
    return listener.listen(vertx, AdminGate::ofNode, routes);
  }

  @Override
  public Future<?> stop() {
    return listener.stop();
  }

  /** The port it listens on; the configured one unless that is 0. Valid once it is deployed. */
  public int port() {
    return listener.port();
  }

  /** New connections are made with these certificates. */
  public Future<?> update(ServerSSLOptions tls) {
    return listener.update(tls);
  }
}

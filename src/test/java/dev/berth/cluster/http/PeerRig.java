package dev.berth.cluster.http;

import static dev.berth.cluster.link.LinkWorld.await;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.AdminVerticle;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.config.AdminOptions;
import dev.berth.config.ClusterConfig.ClusterRole;
import dev.berth.config.ServeConfig;
import dev.berth.metrics.Meters;
import io.vertx.core.Context;
import io.vertx.core.Deployable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PemTrustOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Servers of nodes on the loopback, with certificates of one authority, and a client of them. */
final class PeerRig implements AutoCloseable {
  private final LinkWorld world;
  final Vertx vertx;
  private final Path folder;
  private final Context loop;
  final PeerClient client;

  /**
   * @param folder for certificates
   */
  PeerRig(Path folder) throws Exception {
    this.folder = folder;
    world = new LinkWorld(folder);
    vertx = world.vertx;
    loop = world.loop();
    LinkTls tls = world.tls("asking");
    client = new PeerClient(vertx, tls, "prod");
    tls.renewClient(client::update);
    NodeInfo first = serve("first", router -> router.get("/").handler(context -> context.end()));
    for (int tries = 0; tries < 10; tries++) { // TLS of a cold JVM may take its time
      Future<?> answer = client.send(first, "/", Duration.ofSeconds(2));
      await(answer.otherwiseEmpty());
      if (answer.succeeded()) {
        return;
      }
    }
  }

  /** A node whose admin server for other nodes is on this machine. */
  static NodeInfo node(String name, int httpsPort, ClusterRole role) {
    boolean control = role == ClusterRole.CONTROL;
    NodeInfo.NodePorts ports = new NodeInfo.NodePorts(1, httpsPort, 2, List.of());
    return new NodeInfo(name, "1", control, null, Map.of(), "127.0.0.1", ports, null);
  }

  /** Who knows the authority, and has no certificate. */
  HttpClientOptions nobody() {
    return new HttpClientOptions()
        .setSsl(true)
        .setVerifyHost(false)
        .setTrustOptions(
            new PemTrustOptions().addCertPath(folder.resolve("asking/ca.pem").toString()));
  }

  /** A node that is called so and answers this. */
  NodeInfo serve(String name, AdminRoutes... routes) {
    try {
      LinkTls tls = world.tls(name);
      AdminVerticle server =
          AdminVerticle.ofNode(
              tls.secured(new HttpServerOptions()).setHost("127.0.0.1").setPort(0),
              new Meters(name, "127.0.0.1", "", false),
              List.of(routes));
      tls.renewServer(server::update);
      await(vertx.deployVerticle(server));
      return node(name, server.port(), ClusterRole.WORKER);
    } catch (Exception failed) {
      throw new AssertionError(failed);
    }
  }

  /**
   * What operators ask, on the loop of {@link #onLoop}: a pipe from one loop to another stands
   * still when it is full at one and drained at the other at the same time.
   *
   * @return its port
   */
  int operators(AdminRoutes... routes) {
    try {
      AdminVerticle admin =
          new AdminVerticle(
              ServeConfig.DEFAULTS.with(AdminOptions.PORT, 0),
              new Meters("operators", "127.0.0.1", "", false),
              List.of(routes));
      onLoop(() -> deployed(admin));
      return admin.port();
    } catch (Exception failed) {
      throw new AssertionError(failed);
    }
  }

  /** On one event loop, as on the control loop of a node. */
  <T> T onLoop(Supplier<Future<T>> ask) throws Exception {
    Promise<T> done = Promise.promise();
    loop.runOnContext(turn -> ask.get().onComplete(done));
    return await(done.future());
  }

  private Future<Void> deployed(Deployable part) {
    try {
      return part.deploy(loop).mapEmpty();
    } catch (Exception failed) {
      return Future.failedFuture(failed);
    }
  }

  @Override
  public void close() {
    vertx.close().toCompletionStage().toCompletableFuture().orTimeout(20, TimeUnit.SECONDS).join();
  }
}

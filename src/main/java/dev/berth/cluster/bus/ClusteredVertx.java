package dev.berth.cluster.bus;

import dev.berth.cluster.link.LinkTls;
import dev.berth.code.StartFailedException;
import dev.berth.config.ClusterConfig;
import dev.berth.net.tls.TlsFileException;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;
import io.vertx.core.eventbus.EventBusOptions;
import java.util.concurrent.CompletionException;

/** Start of a Vert.x whose event bus reaches other nodes. */
public final class ClusteredVertx {
  private ClusteredVertx() {}

  /**
   * Builds a Vert.x whose event bus listens. Blocks; call on no event loop.
   *
   * @param options options of {@code builder}; the options of the event bus are set here
   * @throws StartFailedException if the TLS files are unusable or the port is not free
   */
  public static Vertx build(
      VertxBuilder builder, VertxOptions options, ClusterConfig config, BusCluster cluster) {
    try {
      options.setEventBusOptions(options(config));
      return builder
          .with(options)
          .withClusterManager(cluster)
          .buildClustered()
          .toCompletionStage()
          .toCompletableFuture()
          .join();
    } catch (TlsFileException unusable) {
      throw new StartFailedException(String.valueOf(unusable.getMessage()));
    } catch (CompletionException failed) {
      throw new StartFailedException(
          "berth.cluster.ports.bus: cannot listen on %s:%s: %s"
              .formatted(
                  config.bind(),
                  config.ports().bus(),
                  StartFailedException.describe(failed.getCause())));
    }
  }

  /**
   * Creates the options of the event bus between nodes.
   *
   * <p>Vert.x connects once for each attempt; the sender retries. A peer that accepts no bytes for
   * the detection timeout loses its connection: by TCP where the transport is epoll, because Vert.x
   * closes a connection only after its queued messages.
   *
   * @throws TlsFileException if a file is unusable
   */
  static EventBusOptions options(ClusterConfig config) {
    int timeoutMs = Math.toIntExact(config.timeout().toMillis());
    EventBusOptions options =
        new EventBusOptions()
            .setHost(config.bind())
            .setPort(config.ports().bus())
            .setClusterPublicHost(config.advertise())
            .setConnectTimeout(LinkTls.CONNECT_MS)
            .setReconnectAttempts(0)
            .setClusterPingInterval(timeoutMs)
            .setClusterPingReplyInterval(timeoutMs);
    options.setTcpUserTimeout(timeoutMs).setTcpNoDelay(true);
    ClusterConfig.ClusterTls tls = config.tls();
    return tls == null ? options : LinkTls.secureBus(options, tls.files().read());
  }
}

package dev.berth.node;

import dev.berth.cluster.bus.BusCluster;
import dev.berth.cluster.control.BootstrapListener;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.ClusterEpoch;
import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.code.StartFailedException;
import dev.berth.config.ClusterConfig;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.desired.ConsensusEngine;
import dev.berth.desired.FirstCaller;
import dev.berth.node.loops.Identity;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.VertxInternal;
import java.net.InetAddress;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * Configuration and TLS material of an instance that is a node of a cluster.
 *
 * @param tls certificates with which nodes authenticate one another
 * @param bus cluster of the event bus; null if the bus does not reach other nodes
 */
record ClusterIdentity(ClusterConfig config, LinkTls tls, @Nullable BusCluster bus) {

  /** Reads the TLS files. Fails when a file is unreadable, or belongs to another node. */
  static Future<@Nullable ClusterIdentity> read(
      Vertx vertx, ClusterConfig config, @Nullable BusCluster bus) {
    ClusterConfig.ClusterTls files = config.tls();
    Future<LinkTls> tls =
        files == null
            ? Future.succeededFuture(LinkTls.insecure())
            : LinkTls.read(vertx, files.files());
    return tls.map(read -> new ClusterIdentity(config, read, bus));
  }

  /**
   * Returns the nodes that connect during the start and had a controller before. Blocks; call on no
   * event loop.
   */
  static List<FirstCaller> callers(Vertx vertx, ClusterConfig config) {
    ContextInternal loop = ((VertxInternal) vertx).createEventLoopContext();
    try {
      return read(vertx, config, null)
          .compose(
              terms ->
                  BootstrapListener.listen(
                      loop, terms.tls(), config.bind(), config.ports().control()))
          .toCompletionStage()
          .toCompletableFuture()
          .join()
          .stream()
          .map(each -> caller(each, Objects.requireNonNull(each.seen())))
          .toList();
    } catch (CompletionException failed) {
      throw new StartFailedException(
          "berth.cluster.ports.control: " + StartFailedException.describe(failed.getCause()));
    }
  }

  private static FirstCaller caller(HandshakeHello hello, ClusterEpoch seen) {
    return new FirstCaller(
        hello.node().name(),
        hello.node().process(),
        seen.clusterId(),
        seen.generation(),
        seen.term(),
        hello.registration(),
        hello.runs());
  }

  /** Returns the options of a control node's log. */
  static ConsensusEngine.ConsensusOptions consensus(
      ServeConfig file, ClusterConfig config, Identity identity) {
    ClusterConfig.ClusterTls files = config.tls();
    return new ConsensusEngine.ConsensusOptions(
        file.get(InstanceOptions.STATE_DIR),
        config.name(),
        config.node(),
        InetAddress.getLoopbackAddress().getHostAddress(), // until the group has other members
        config.ports().consensus(),
        files == null ? null : files.files(),
        new UUID(identity.chance().nextLong(), identity.chance().nextLong()).toString());
  }
}

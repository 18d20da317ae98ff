package dev.berth.node;

import dev.berth.cluster.link.LinkTls;
import dev.berth.config.ClusterConfig;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.desired.ConsensusEngine;
import dev.berth.node.loops.Identity;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * On what terms an instance is a node of a cluster.
 *
 * @param tls by which nodes know each other
 */
record ClusterTerms(ClusterConfig config, LinkTls tls) {

  /** Fails when a file of TLS cannot be read, or is not this node's. */
  static Future<@Nullable ClusterTerms> read(Vertx vertx, ClusterConfig config) {
    ClusterConfig.Tls files = config.tls();
    Future<LinkTls> tls =
        files == null
            ? Future.succeededFuture(LinkTls.insecure())
            : LinkTls.read(vertx, files.certFile(), files.keyFile(), files.caFile());
    return tls.map(read -> new ClusterTerms(config, read));
  }

  /** The log of a control node. */
  static ConsensusEngine.Options consensus(
      ServeConfig file, ClusterConfig config, Identity identity) {
    ClusterConfig.Tls files = config.tls();
    return new ConsensusEngine.Options(
        file.get(InstanceOptions.STATE_DIR),
        config.name(),
        config.node(),
        config.bind(),
        config.ports().consensus(),
        files == null
            ? null
            : new ConsensusEngine.Tls(files.keyFile(), files.certFile(), files.caFile()),
        new UUID(identity.chance().nextLong(), identity.chance().nextLong()).toString());
  }
}

package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;
import dev.berth.code.BuiltInHandlers;
import dev.berth.code.StartFailedException;
import dev.berth.config.AdminOptions;
import dev.berth.config.ClusterConfig;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.dialect.ApiKeys;
import dev.berth.dialect.mcp.SessionIds;
import dev.berth.node.loops.Identity;
import dev.berth.protocol.port.UpstreamContext;
import dev.berth.protocol.port.ViaEntry;
import dev.berth.upstream.OwnerLease;
import dev.berth.upstream.RelayEnvironment;
import dev.berth.upstream.UpstreamHandler;
import dev.berth.upstream.UpstreamProbe;
import dev.berth.upstream.client.AddressPolicy;
import io.vertx.core.Future;
import io.vertx.core.internal.ContextInternal;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The handlers of the built-in applications.
 *
 * @param config of the instance
 * @param incarnation random number of this start
 * @param lease lease of the shares in a cluster
 * @param members ports of the nodes of the cluster
 * @param keys of the clients of {@code berth:openai}; null if it needs none
 * @param sessions ids of MCP sessions
 */
record ProxyHandlers(
    ServeConfig config,
    long incarnation,
    OwnerLease lease,
    MemberPorts members,
    @Nullable ApiKeys keys,
    SessionIds sessions)
    implements BuiltInHandlers {

  /**
   * Reads the file of keys.
   *
   * @throws StartFailedException when it is unusable
   */
  ProxyHandlers(ServeConfig config, Identity identity) {
    this(
        config,
        identity.incarnation(),
        new OwnerLease(identity.nanoClock()),
        new MemberPorts(),
        keys(config),
        new SessionIds(random(identity)));
  }

  private static byte[] random(Identity identity) {
    byte[] key = new byte[32];
    identity.chance().nextBytes(key);
    return key;
  }

  private static @Nullable ApiKeys keys(ServeConfig config) {
    try {
      return ApiKeys.of(config.settings());
    } catch (IllegalArgumentException unusable) {
      throw new StartFailedException("berth.openai.api_keys_file: " + unusable.getMessage());
    }
  }

  @Override
  public HandlerFactory of(DeploymentId deployment) {
    RelayEnvironment instance = environment();
    return replica -> UpstreamHandler.of((UpstreamContext) replica, instance);
  }

  /** Returns whether this node reaches an upstream, by a probe without a replica. */
  Future<Boolean> reaches(ContextInternal loop, Map<String, @Nullable Object> userConfig) {
    return UpstreamProbe.run(loop, userConfig, environment());
  }

  private RelayEnvironment environment() {
    Set<Integer> ownPorts =
        new HashSet<>(List.of(config.get(HttpOptions.PORT), config.get(AdminOptions.PORT)));
    ClusterConfig cluster = config.cluster();
    if (cluster != null) {
      ownPorts.addAll(cluster.ports().all());
    }
    return new RelayEnvironment(
        config.settings().find(InstanceOptions.SECRETS_DIR),
        () -> AddressPolicy.ofHost(ownPorts, members::byAddress),
        config.get(HttpOptions.ROOT_PATH),
        ViaEntry.of(incarnation).value(),
        sessions,
        lease);
  }
}

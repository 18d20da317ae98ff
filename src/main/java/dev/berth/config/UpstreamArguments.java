package dev.berth.config;

import dev.berth.config.batching.BatchingOptions;
import dev.berth.config.keys.Settings;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The {@code user_config} of the replica that represents an upstream. */
public final class UpstreamArguments {
  private UpstreamArguments() {}

  /**
   * Returns an upstream as the {@code user_config} of its replica. Adds the default of {@code
   * orphan_s}, the deployment's {@code cancel_grace_s}, its own {@code user_config}, {@link
   * UpstreamOptions#IS_ONLY}, {@link DeploymentConfig#MCP} and {@link DeploymentConfig#BATCH}.
   *
   * @param key of the replica
   */
  public static Map<String, @Nullable Object> of(
      Settings deployment, Settings upstream, String key) {
    Map<String, @Nullable Object> all =
        UpstreamOptions.toUserConfig(upstream, deployment.find(DeploymentConfig.REQUEST_TIMEOUT_S));
    all.put(
        DeploymentConfig.CANCEL_GRACE_S.name(),
        deployment.get(DeploymentConfig.CANCEL_GRACE_S).toNanos() / 1e9);
    all.putAll(deployment.get(DeploymentConfig.USER_CONFIG));
    boolean only =
        deployment.all(DeploymentConfig.UPSTREAMS).size() == 1
            && deployment.get(DeploymentConfig.FALLBACK).isEmpty()
            && UpstreamOptions.withoutPlace(key).equals(key);
    all.put(UpstreamOptions.IS_ONLY, only);
    Settings mcp = deployment.find(DeploymentConfig.MCP);
    if (mcp != null) {
      all.put(DeploymentConfig.MCP.name(), mcp.toMap());
    }
    Settings batch = deployment.find(DeploymentConfig.BATCH);
    if (batch != null) {
      Map<String, @Nullable Object> rules = new LinkedHashMap<>(batch.toMap());
      rules.put(
          BatchingOptions.SAME.name(),
          deployment.get(DeploymentConfig.BATCHING).get(BatchingOptions.SAME));
      all.put(DeploymentConfig.BATCH.name(), rules);
    }
    String address = UpstreamOptions.address(key);
    if (address != null) {
      all.put(UpstreamOptions.ADDRESS, address);
    }
    return all;
  }

  /** Returns the {@code orphan_s} of an upstream, or its default. */
  public static Duration orphan(Settings deployment, Settings upstream) {
    return UpstreamOptions.fromUserConfig(of(deployment, upstream, ""))
        .get(UpstreamOptions.ORPHAN_S);
  }
}

package dev.berth.upstream;

import dev.berth.dialect.mcp.SessionIds;
import dev.berth.upstream.client.AddressPolicy;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Properties of the instance that its upstreams share.
 *
 * @param secretsDir directory of headers files and TLS files; null for none
 * @param addresses policy of the addresses that upstreams may have, without the loopback rule
 * @param rootPath mount path of all routes, removed from paths; empty for none
 * @param via entry of this instance in the header {@code via}
 * @param sessions ids of MCP sessions
 * @param lease lease of the instance's shares; without an end outside of a cluster
 */
public record RelayEnvironment(
    @Nullable Path secretsDir,
    Supplier<AddressPolicy> addresses,
    String rootPath,
    String via,
    SessionIds sessions,
    OwnerLease lease) {}

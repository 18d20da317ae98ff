package dev.berth.cli;

import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Filter of a command by replica. Each option may be repeated; an empty option matches all. */
final class ReplicaFilter {
  @Option(names = "--app", paramLabel = "NAME", description = "Name of the application.")
  List<String> applications = List.of();

  @Option(names = "--deployment", paramLabel = "NAME", description = "Name of the deployment.")
  List<String> deployments = List.of();

  @Option(names = "--replica", paramLabel = "ID", description = "Id of the replica.")
  List<String> replicas = List.of();

  @Option(
      names = "--node",
      paramLabel = "NAME",
      description = "Name of the cluster node that reports.")
  private @Nullable String node;

  /** Returns the query parameters, each {@code &name=value}; empty without an option. */
  String parameters() {
    return AdminHttpClient.parameters("application", applications)
        + AdminHttpClient.parameters("deployment", deployments)
        + AdminHttpClient.parameters("replica", replicas)
        + AdminHttpClient.parameters("node", node == null ? List.of() : List.of(node));
  }
}

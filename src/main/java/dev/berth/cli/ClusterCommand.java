package dev.berth.cli;

import java.io.PrintWriter;
import picocli.CommandLine.Command;

/** {@code berth cluster}: what is about several nodes. The work is in its subcommands. */
@Command(
    name = "cluster",
    header = "Makes a cluster to try.",
    synopsisSubcommandLabel = "COMMAND",
    exitCodeList = {"0:all went well", "1:a failure at run time", "2:wrong usage"},
    footer = {
      "  berth cluster init trial",
      "  berth cluster init --help",
    },
    subcommands = ClusterInitCommand.class)
final class ClusterCommand extends CliCommand {
  @Override
  void run(PrintWriter out) {
    throw wrong("Missing command: one of " + String.join(", ", spec.subcommands().keySet()));
  }
}

package dev.berth.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** Command {@code berth}: help and version. Subcommands do the work. */
@Command(
    name = "berth",
    header = "Serves applications made of replicated deployments over HTTP.",
    synopsisSubcommandLabel = "COMMAND",
    exitCodeList = {
      "0:success",
      "1:a failure at run time",
      "2:wrong usage, or a configuration with problems",
      "3:no admin server answers at the address",
      "4:with --wait: not reached within --timeout-s",
      "5:berth run: out of memory, the heap stayed full"
    },
    footer = {
      "  berth new shop",
      "  berth dev",
      "  berth run conf/quickstart.yaml",
      "  berth run conf/quickstart.yaml --port 9000 --admin-port 0",
      "  berth validate conf/quickstart.yaml --json",
      "  berth deploy conf/quickstart.yaml --wait",
      "  berth status --watch",
      "  berth logs --app echo -f",
      "  berth rollback echo --wait",
      "  berth explain mine --address http://127.0.0.1:8265",
      "  berth schema > berth.schema.json",
      "  berth deploy --help"
    })
final class BerthCommand extends CliCommand {
  private final CliEnvironment around;

  BerthCommand(CliEnvironment around) {
    this.around = around;
  }

  /** Returns the environment of a command. */
  static CliEnvironment around(CommandSpec ofCommand) {
    return ((BerthCommand) ofCommand.root().userObject()).around;
  }

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      scope = ScopeType.INHERIT,
      description = "Shows this help.")
  private boolean help;

  @Option(
      names = {"-V", "--version"},
      versionHelp = true,
      description = "Shows the versions of Berth and Java.")
  private boolean version;

  /** Returns the versions of Berth, from the jar's manifest, and of Java. */
  static String versions() {
    String version = BerthCommand.class.getPackage().getImplementationVersion();
    return "berth "
        + (version == null ? "unreleased" : version)
        + " (Java "
        + Runtime.version()
        + ")";
  }
}

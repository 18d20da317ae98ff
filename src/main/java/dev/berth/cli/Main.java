package dev.berth.cli;

import dev.berth.cli.log.JulHandler;
import dev.berth.cli.log.LogTap;
import dev.berth.config.ServeConfig;
import dev.berth.node.BerthNode;
import io.vertx.core.Future;
import java.io.PrintWriter;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import picocli.CommandLine;

/** The process {@code berth}. */
public final class Main {

  private Main() {}

  /** Runs one command and ends the process with its exit code, which {@link BerthCommand} lists. */
  public static void main(String[] args) {
    leaveTheFlightRecorderAlone();
    JulHandler.install();
    System.exit(
        commandLine(Main::start, Surroundings.ofProcess(StopSignals::install)).execute(args));
  }

  /**
   * Netty asks with its first buffer whether a flight recording wants to know of it, and that alone
   * starts the whole recorder: on the event loop, 0.1 s of two cores before the first answer. Who
   * wants Netty's events of its allocator in a recording gives {@code -Dio.netty.jfr.enabled=true}.
   */
  private static void leaveTheFlightRecorderAlone() {
    System.getProperties().putIfAbsent("io.netty.jfr.enabled", "false");
  }

  private static Future<RunningNode> start(ServeConfig config, CompletionStage<String> stop) {
    return BerthNode.start(config, LogTap.ofProcess(), stop)
        .map(node -> new RunningNode(node::close, node.stopAsked()));
  }

  /**
   * The commands, with what they need from outside.
   *
   * @param start starts a node, unless the signal comes first
   * @param around what commands find, the first signal to stop included
   */
  static CommandLine commandLine(
      BiFunction<ServeConfig, CompletionStage<String>, Future<RunningNode>> start,
      Surroundings around) {
    CommandLine berth =
        new CommandLine(new BerthCommand(around))
            .addSubcommand(new RunCommand(start))
            .addSubcommand(new ValidateCommand())
            .addSubcommand(new DeployCommand())
            .addSubcommand(new StatusCommand())
            .addSubcommand(new ConfigCommand())
            .addSubcommand(new ScaleCommand())
            .addSubcommand(new AutoscalingCommand())
            .addSubcommand(new HistoryCommand())
            .addSubcommand(new TrafficCommand())
            .addSubcommand(new RollbackCommand())
            .addSubcommand(new LogsCommand())
            .addSubcommand(new LedgerCommand())
            .addSubcommand(new ExplainCommand())
            .addSubcommand(new ShutdownCommand())
            .addSubcommand(new DrainCommand())
            .addSubcommand(new ClusterCommand())
            .addSubcommand(new SchemaCommand())
            .addSubcommand(new CompletionCommand());
    berth.getSubcommands().values().stream()
        .flatMap(each -> Stream.concat(Stream.of(each), each.getSubcommands().values().stream()))
        .distinct()
        .<Object>map(CommandLine::getCommand)
        .filter(AdminCommand.class::isInstance)
        .forEach(each -> ((AdminCommand) each).tellExitCodes());
    return berth
        .setErr(new PrintWriter(System.err, true))
        .setOut(new PrintWriter(System.out, true));
  }
}

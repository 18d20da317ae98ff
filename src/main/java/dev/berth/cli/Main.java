package dev.berth.cli;

import dev.berth.cli.log.JulHandler;
import dev.berth.cli.log.LogTap;
import dev.berth.cli.process.NodeHandle;
import dev.berth.cli.process.StopSignals;
import dev.berth.config.ServeConfig;
import dev.berth.node.BerthNode;
import io.vertx.core.Future;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import picocli.CommandLine;

/** Process {@code berth}. */
public final class Main {

  private Main() {}

  /** Runs one command and ends the process with its exit code, which {@link BerthCommand} lists. */
  public static void main(String[] args) {
    // Disables Netty's flight recorder events. Netty would look for a recording at its first
    // buffer, and this alone starts the whole recorder: on the event loop, 0.1 s of two cores
    // before the first response. -Dio.netty.jfr.enabled=true records the allocator's events.
    System.getProperties().putIfAbsent("io.netty.jfr.enabled", "false");
    JulHandler.install();
    String[] words = words(args);
    System.exit(
        commandLine(Main::start, CliEnvironment.ofProcess(StopSignals::install), words)
            .execute(words));
  }

  /** Returns the arguments of a command line, with {@code help} as {@code --help}. */
  static String[] words(String... args) {
    return args.length > 0 && args[0].equals("help")
        ? Stream.concat(Stream.of(args).skip(1), Stream.of("--help")).toArray(String[]::new)
        : args;
  }

  private static Future<NodeHandle> start(ServeConfig config, CompletionStage<String> stop) {
    return BerthNode.start(config, LogTap.ofProcess(), stop)
        .map(node -> new NodeHandle(node::close, node.stopAsked(), node.port(), node.adminPort()));
  }

  /**
   * Creates the commands with their dependencies.
   *
   * @param start starts a node, unless the signal comes first
   * @param around environment of the commands, including the first stop signal
   * @param words arguments of the command line. If the first one is a command, only that command is
   *     created: reading the annotations of all commands takes as long as the start of the JVM
   */
  static CommandLine commandLine(
      BiFunction<ServeConfig, CompletionStage<String>, Future<NodeHandle>> start,
      CliEnvironment around,
      String... words) {
    List<Object> all =
        List.of(
            new RunCommand(start),
            new DevCommand(start),
            new NewCommand(),
            new ValidateCommand(),
            new DeployCommand(),
            new StatusCommand(),
            new ConfigCommand(),
            new ScaleCommand(),
            new AutoscalingCommand(),
            new HistoryCommand(),
            new TrafficCommand(),
            new RollbackCommand(),
            new LogsCommand(),
            new LedgerCommand(),
            new UpstreamCommand(),
            new KeyCommand(),
            new ExplainCommand(),
            new ShutdownCommand(),
            new DrainCommand(),
            new ClusterCommand(),
            new SchemaCommand());
    CommandLine berth = new CommandLine(new BerthCommand(around));
    berth.getCommandSpec().version(BerthCommand.versions());
    all.stream()
        .filter(each -> words.length > 0 && words[0].equals(nameOf(each)))
        .findFirst()
        .map(List::of)
        .orElseGet(() -> Stream.concat(all.stream(), Stream.of(new CompletionCommand())).toList())
        .forEach(berth::addSubcommand);
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

  private static String nameOf(Object command) {
    return command.getClass().getAnnotation(CommandLine.Command.class).name();
  }
}

package dev.berth.cli;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Command that sends requests to the admin server of a running instance. */
abstract class AdminCommand extends CliCommand {
  /** Interval between two requests of a watch. */
  static final Duration RHYTHM = Duration.ofMillis(500);

  private static final Map<String, String> EXIT_CODES =
      Map.of("2", "wrong usage", "3", "no admin server answers at the address");

  @Mixin AdminHttpClient server;

  @Option(
      names = "--json",
      description = "Prints JSON for programs; with --watch or --follow, one object per line.")
  boolean json;

  /**
   * Adds the common exit codes to the command's help, except codes that the command describes
   * itself.
   */
  void tellExitCodes() {
    Map<String, String> all = new TreeMap<>(EXIT_CODES);
    all.putAll(spec.usageMessage().exitCodeList());
    spec.usageMessage().exitCodeList(all);
  }

  /**
   * Ends the command if no terminal can confirm a deletion.
   *
   * @param problem printed in that case
   */
  void requireTerminal(String problem) {
    if (!around().terminal()) {
      server.say(problem + " (expected: -y, which deletes without a question)");
      throw new CommandExitException(ExitCode.USAGE);
    }
  }

  /**
   * Polls the status until the stop signal, and on demand reports an outage and its end on standard
   * error. An instance without a response may be restarting, so the last status stays.
   *
   * @param first first status
   * @param shown receives the last status, and the cause of an outage; empty without an outage
   */
  void watch(ServeStatus first, boolean says, BiConsumer<ServeStatus, String> shown)
      throws InterruptedException {
    CompletionStage<String> stop = around().stopSignal().get();
    String trouble = "";
    for (ServeStatus serve = first; ; ) {
      shown.accept(serve, trouble);
      spec.commandLine().getOut().flush();
      if (around().pause().until(stop, RHYTHM)) {
        return;
      }
      String before = trouble;
      try {
        AdminHttpClient.AdminHttpReply answer = server.look(ServeStatus.PATH);
        ServeStatus now = answer.serve();
        trouble = now == null ? "no response now: status " + answer.statusCode() : "";
        serve = now == null ? serve : now;
      } catch (IOException failed) {
        trouble = AdminHttpClient.printable("no response now: " + AdminHttpClient.whyNot(failed));
      }
      if (says && !trouble.equals(before)) {
        server.say(trouble.isEmpty() ? "the admin server responds again" : trouble);
      }
    }
  }

  /** Filter of a command by replica. Each option may be repeated; an empty option matches all. */
  static final class ReplicaFilter {
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
}

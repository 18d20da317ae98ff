package dev.berth.cli;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** A command that asks the admin server of an instance that runs. */
abstract class AdminCommand extends CliCommand {
  /** Of looks at an instance. */
  static final Duration RHYTHM = Duration.ofMillis(500);

  private static final Map<String, String> EXIT_CODES =
      Map.of("2", "wrong usage", "3", "no admin server answers at the address");

  @Mixin AdminServer server;

  @Option(
      names = "--json",
      description = "Print JSON for programs; with --watch or --follow one object in a line.")
  boolean json;

  /** Adds to its help what each of them may end with, unless it says more of that itself. */
  void tellExitCodes() {
    Map<String, String> all = new TreeMap<>(EXIT_CODES);
    all.putAll(spec.usageMessage().exitCodeList());
    spec.usageMessage().exitCodeList(all);
  }

  /**
   * Ends the command when nobody can be asked whether to delete.
   *
   * @param problem said then
   */
  void requireTerminal(String problem) {
    if (!around().terminal()) {
      server.say(problem + " (expected: -y, which deletes without a question)");
      throw new Ended(ExitCode.USAGE);
    }
  }

  /**
   * Looks again and again until the signal to stop. An instance that does not answer may be on its
   * way back: what was last seen stays.
   *
   * @param first the first look
   * @param says whether it is said on standard error that it does not answer, and answers again
   * @param shown gets what was last seen, and why there is no answer now; empty when there is one
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
        AdminServer.Answer answer = server.look(ServeStatus.PATH);
        ServeStatus now = answer.serve();
        trouble = now == null ? "no answer now: status " + answer.statusCode() : "";
        serve = now == null ? serve : now;
      } catch (IOException failed) {
        trouble = AdminServer.printable("no answer now: " + AdminServer.whyNot(failed));
      }
      if (says && !trouble.equals(before)) {
        server.say(trouble.isEmpty() ? "it answers again" : trouble);
      }
    }
  }
}

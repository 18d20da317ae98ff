package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** A command that changes something, and may stay until that has come true. */
abstract class ChangeCommand extends AdminCommand {
  @Mixin WaitOptions waiting;

  @Option(names = "--json", description = "Print what became of it as JSON, at the end.")
  boolean json;

  ChangeCommand(Surroundings around) {
    super(around);
  }

  /** Waits for what was accepted, with progress for people. */
  GoalWatch.Outcome await(Goal goal, PrintWriter out) throws InterruptedException {
    return new GoalWatch(server, around).until(goal, waiting.timeout(), json ? null : out);
  }

  /**
   * Waits if that is wished, and prints for programs what became of it.
   *
   * @param change that was accepted, for programs
   * @return the exit code
   */
  int finish(Goal goal, JsonObject change, PrintWriter out) throws InterruptedException {
    GoalWatch.Outcome outcome = waiting.isAsked() ? await(goal, out) : null;
    if (json) {
      change.put("outcome", outcome == null ? "accepted" : outcome.word());
      out.println(AdminServer.printable(change.put("causes", causes(outcome)).encodePrettily()));
    }
    return outcome == null ? ExitCode.OK : outcome.exitCode();
  }

  JsonArray causes(GoalWatch.@Nullable Outcome outcome) {
    return new JsonArray(
        outcome == null ? List.of() : outcome.causes().stream().map(server::located).toList());
  }
}

package dev.berth.cli;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ExitCode;

/** Looks at an instance again and again, until a goal is reached, has failed, or time is over. */
final class GoalWatch {
  private static final int UNAVAILABLE = 503;
  private static final Duration FIRST_PAUSE = Duration.ofMillis(200);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

  /**
   * How it ended.
   *
   * @param exitCode of the command
   * @param causes a line for each thing that is not as it should be
   * @param last look; null when there was none
   */
  record Outcome(int exitCode, List<String> causes, @Nullable ServeStatus last) {
    /** A word for programs. */
    String word() {
      return switch (exitCode) {
        case ExitCode.OK -> "reached";
        case WaitOptions.TIMED_OUT -> "timed_out";
        case AdminServer.CANNOT_REACH -> "no_answer";
        default -> "failed";
      };
    }
  }

  private final AdminServer server;
  private final Surroundings around;

  GoalWatch(AdminServer server, Surroundings around) {
    this.server = server;
    this.around = around;
  }

  /**
   * Waits, and says at the end why the goal was not reached.
   *
   * @param out where it is shown how far things are; null for nowhere
   */
  Outcome until(Goal goal, Duration atMost, @Nullable PrintWriter out) throws InterruptedException {
    long began = around.nanoClock().getAsLong();
    StatusDisplay display = out == null ? null : new StatusDisplay(around, out);
    Duration pause = FIRST_PAUSE;
    for (; ; ) {
      AdminServer.Answer response;
      try {
        response = server.get(ServeStatus.PATH);
      } catch (AdminServer.NoAnswer said) {
        return new Outcome(said.exitCode, List.of(), null);
      }
      ServeStatus serve = ServeStatus.of(AdminServer.json(response.body()));
      long now = around.nanoClock().getAsLong();
      boolean late = now - began >= atMost.toNanos();
      if (response.statusCode() == UNAVAILABLE && !late) {
        around.pause().until(new CompletableFuture<Void>(), LONGEST_PAUSE);
        continue; // its controller is being started anew
      }
      if (serve == null) {
        return new Outcome(server.refuse(response), List.of(), null);
      }
      if (display != null) {
        display.show(goal.shown(serve));
      }
      Goal.Verdict verdict = goal.judge(serve, now);
      if (verdict.state() == Goal.State.REACHED) {
        return new Outcome(ExitCode.OK, List.of(), serve);
      }
      if (verdict.state() == Goal.State.FAILED || late) {
        boolean failed = verdict.state() == Goal.State.FAILED;
        verdict.causes().forEach(server::say);
        if (!failed) {
          server.say("not reached within " + atMost.toMillis() / 1e3 + " s; it goes on");
        }
        return new Outcome(
            failed ? ExitCode.SOFTWARE : WaitOptions.TIMED_OUT, verdict.causes(), serve);
      }
      around.pause().until(new CompletableFuture<Void>(), pause);
      pause = pause.compareTo(LONGEST_PAUSE) < 0 ? pause.multipliedBy(5).dividedBy(4) : pause;
    }
  }
}

package dev.berth.cli;

import static java.net.HttpURLConnection.HTTP_UNAVAILABLE;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;

/** A command that changes something, and may stay until that has come true. */
abstract class ChangeCommand extends AdminCommand {
  /** The exit code when it has not come true in time. */
  static final int TIMED_OUT = 4;

  private static final Duration FIRST_PAUSE = Duration.ofMillis(200);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);
  private static final int DEFAULT_S = 300;
  private static final int MOST_S = 7 * 24 * 3600;

  @Option(names = "--wait", description = "Stay until it has come true, or has failed.")
  boolean wait;

  Duration timeout = Duration.ofSeconds(DEFAULT_S);

  @Option(
      names = "--timeout-s",
      paramLabel = "SECONDS",
      description = "With --wait, how long at most. Default: " + DEFAULT_S)
  private void timeout(double seconds) {
    if (!(seconds > 0 && seconds <= MOST_S)) {
      throw wrong(
          "--timeout-s: %s (expected: a number of seconds above 0, at most %s)"
              .formatted(seconds, MOST_S));
    }
    timeout = Duration.ofNanos((long) (seconds * 1e9));
  }

  /**
   * How it ended.
   *
   * @param exitCode of the command
   * @param causes a line for each thing that is not as it should be
   * @param last look; null when there was none
   */
  record Outcome(int exitCode, List<String> causes, @Nullable ServeStatus last) {
    /** Nobody waits for more. */
    static final Outcome ACCEPTED = new Outcome(ExitCode.OK, List.of(), null);

    /** A word for programs. */
    String word() {
      return switch (exitCode) {
        case ExitCode.OK -> last == null ? "accepted" : "reached";
        case TIMED_OUT -> "timed_out";
        case AdminServer.CANNOT_REACH -> "no_answer";
        default -> "failed";
      };
    }

    /**
     * Ends the command with it.
     *
     * @throws Ended unless all went well
     */
    void end() {
      if (exitCode != ExitCode.OK) {
        throw new Ended(exitCode);
      }
    }
  }

  /** Waits for what was accepted if that is wished, with progress for people. */
  Outcome await(Goal goal, PrintWriter out) throws InterruptedException {
    try {
      return wait ? until(goal, out) : Outcome.ACCEPTED;
    } catch (Ended said) {
      return new Outcome(said.exitCode, List.of(), null);
    }
  }

  /** Shows each look, and at the end the causes for which the goal was not reached. */
  private Outcome until(Goal goal, PrintWriter out) throws InterruptedException {
    StatusDisplay display = new StatusDisplay(around(), out);
    StatusTable table = new StatusTable(around().colours());
    Set<String> awaited = new LinkedHashSet<>(); // as it was said
    return poll(
        late -> {
          AdminServer.Answer response = server.get(ServeStatus.PATH);
          if (response.statusCode() == HTTP_UNAVAILABLE && !(late && awaited.isEmpty())) {
            if (awaited.addAll(AdminServer.problems(response.body()))) {
              server.say("waiting: " + String.join("; ", awaited));
            }
            // its controller is being started anew
            return late ? outcome(new Goal.Verdict(false, List.copyOf(awaited)), null, true) : null;
          }
          ServeStatus serve = response.serve();
          if (serve == null) {
            throw server.refuse(response);
          }
          if (!json) {
            display.show(table.lines(goal.shown(serve)), goal.shown(serve));
          }
          return outcome(goal.judge(serve, around().nanoClock().getAsLong()), serve, late);
        });
  }

  private @Nullable Outcome outcome(
      Goal.Verdict verdict, @Nullable ServeStatus serve, boolean late) {
    if (verdict.reached()) {
      return new Outcome(ExitCode.OK, List.of(), serve);
    } else if (!verdict.failed() && !late) {
      return null;
    }
    verdict.causes().forEach(server::say);
    if (!verdict.failed()) {
      server.say("not reached within " + timeout.toMillis() / 1e3 + " s; it goes on");
    }
    return new Outcome(verdict.failed() ? ExitCode.SOFTWARE : TIMED_OUT, verdict.causes(), serve);
  }

  /** A look at the state that a command waits for. */
  interface Look<T> {
    /**
     * Returns the end of the wait; null to look again, which a late look may not.
     *
     * @param late whether the timeout has passed
     */
    @Nullable T at(boolean late) throws InterruptedException;
  }

  /** Looks again after growing pauses until a look ends the wait; the last is at the timeout. */
  <T> T poll(Look<T> look) throws InterruptedException {
    long began = around().nanoClock().getAsLong();
    for (Duration pause = FIRST_PAUSE; ; pause = longer(pause)) {
      Duration left = timeout.minusNanos(around().nanoClock().getAsLong() - began);
      T end = look.at(left.isNegative() || left.isZero());
      if (end != null) {
        return end;
      }
      around().letPass(pause.compareTo(left) < 0 ? pause : left);
    }
  }

  private static Duration longer(Duration pause) {
    return pause.compareTo(LONGEST_PAUSE) < 0 ? pause.multipliedBy(5).dividedBy(4) : pause;
  }

  /**
   * Ends a drain.
   *
   * @param over whether nothing is left; null when that was not waited for
   * @param left said when there is something, before the time that has passed
   */
  void endDrain(@Nullable Boolean over, JsonObject change, String left) {
    if (json) {
      print(change.put("outcome", over == null ? "accepted" : over ? "reached" : "timed_out"));
    }
    if (Boolean.FALSE.equals(over)) {
      server.say(left + " still after " + timeout.toMillis() / 1e3 + " s");
      throw new Ended(TIMED_OUT);
    }
  }

  /**
   * Waits if that is wished, and prints for programs what became of it.
   *
   * @param change that was accepted, for programs
   */
  void finish(Goal goal, JsonObject change, PrintWriter out) throws InterruptedException {
    Outcome outcome = await(goal, out);
    if (json) {
      change.put("outcome", outcome.word()).put("causes", causes(outcome));
      print(change);
    }
    outcome.end();
  }

  JsonArray causes(Outcome outcome) {
    return new JsonArray(outcome.causes().stream().map(server::located).toList());
  }
}

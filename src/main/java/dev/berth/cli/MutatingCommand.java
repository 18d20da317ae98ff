package dev.berth.cli;

import static java.net.HttpURLConnection.HTTP_UNAVAILABLE;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;

/** Command that changes an instance, and may wait until the change has taken effect. */
abstract class MutatingCommand extends AdminCommand {
  /** Exit code for a change that has not taken effect in time. */
  static final int TIMED_OUT = 4;

  private static final Duration FIRST_PAUSE = Duration.ofMillis(200);
  private static final Duration MAX_PAUSE = Duration.ofSeconds(1);
  private static final int DEFAULT_S = 300;
  private static final int MAX_TIMEOUT_S = 7 * 24 * 3600;

  @Option(names = "--wait", description = "Waits until the change is complete or has failed.")
  boolean wait;

  Duration timeout = Duration.ofSeconds(DEFAULT_S);

  @Option(
      names = "--timeout-s",
      paramLabel = "SECONDS",
      description = "Maximum wait with --wait, in seconds. Default: " + DEFAULT_S)
  private void timeout(double seconds) {
    if (!(seconds > 0 && seconds <= MAX_TIMEOUT_S)) {
      throw wrong(
          "--timeout-s: %s (expected: a number of seconds above 0, at most %s)"
              .formatted(seconds, MAX_TIMEOUT_S));
    }
    timeout = Duration.ofNanos((long) (seconds * 1e9));
  }

  /**
   * Outcome of a change.
   *
   * @param exitCode exit code of the command
   * @param causes a line for each unmet condition
   * @param last last status; null without one
   */
  record ChangeOutcome(int exitCode, List<String> causes, @Nullable ServeStatus last) {
    /** Outcome without a wait. */
    static final ChangeOutcome ACCEPTED = new ChangeOutcome(ExitCode.OK, List.of(), null);

    /** Returns the outcome as a word for programs. */
    String word() {
      return switch (exitCode) {
        case ExitCode.OK -> last == null ? "accepted" : "reached";
        case TIMED_OUT -> "timed_out";
        case AdminHttpClient.CANNOT_REACH -> "no_answer";
        default -> "failed";
      };
    }

    /**
     * Ends the command with this outcome.
     *
     * @throws CommandExitException unless the change succeeded
     */
    void end() {
      if (exitCode != ExitCode.OK) {
        throw new CommandExitException(exitCode);
      }
    }
  }

  /** Waits for an accepted change if {@code --wait} is set, and shows the progress. */
  ChangeOutcome await(WaitCondition goal, PrintWriter out) throws InterruptedException {
    try {
      return wait ? until(goal, out) : ChangeOutcome.ACCEPTED;
    } catch (CommandExitException said) {
      return new ChangeOutcome(said.exitCode, List.of(), null);
    }
  }

  /** Polls until the goal is reached, and prints the causes if it is not. */
  private ChangeOutcome until(WaitCondition goal, PrintWriter out) throws InterruptedException {
    StatusDisplay display = new StatusDisplay(around(), out);
    StatusTable table = new StatusTable(around().colours());
    Set<String> awaited = new LinkedHashSet<>(); // already printed
    return poll(
        late -> {
          AdminHttpClient.AdminHttpReply response = server.get(ServeStatus.PATH);
          if (response.statusCode() == HTTP_UNAVAILABLE && !(late && awaited.isEmpty())) {
            if (awaited.addAll(AdminHttpClient.problems(response.body()))) {
              server.say("waiting: " + String.join("; ", awaited));
            }
            // the controller restarts
            return late
                ? outcome(
                    new WaitCondition.ConditionVerdict(false, List.copyOf(awaited)), null, true)
                : null;
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

  private @Nullable ChangeOutcome outcome(
      WaitCondition.ConditionVerdict verdict, @Nullable ServeStatus serve, boolean late) {
    if (verdict.reached()) {
      return new ChangeOutcome(ExitCode.OK, List.of(), serve);
    } else if (!verdict.failed() && !late) {
      return null;
    }
    verdict.causes().forEach(server::say);
    if (!verdict.failed()) {
      server.say("not reached within " + timeout.toMillis() / 1e3 + " s; the instance continues");
    }
    return new ChangeOutcome(
        verdict.failed() ? ExitCode.SOFTWARE : TIMED_OUT, verdict.causes(), serve);
  }

  /** Poll of the state that a command waits for. */
  interface StatusPoll<T> {
    /**
     * Returns the end of the wait; null to poll again, which is not allowed after the timeout.
     *
     * @param late whether the timeout has passed
     */
    @Nullable T at(boolean late) throws InterruptedException;
  }

  /** Polls with growing pauses until the wait ends; the last poll is at the timeout. */
  <T> T poll(StatusPoll<T> look) throws InterruptedException {
    long began = around().nanoClock().getAsLong();
    for (Duration pause = FIRST_PAUSE; ; pause = longer(pause)) {
      Duration left = timeout.minusNanos(around().nanoClock().getAsLong() - began);
      T end = look.at(left.isNegative() || left.isZero());
      if (end != null) {
        return end;
      }
      Duration time = pause.compareTo(left) < 0 ? pause : left;
      around().pause().until(new CompletableFuture<Void>(), time);
    }
  }

  private static Duration longer(Duration pause) {
    return pause.compareTo(MAX_PAUSE) < 0 ? pause.multipliedBy(5).dividedBy(4) : pause;
  }

  /**
   * Ends a drain.
   *
   * @param over whether the drain is complete; null without a wait
   * @param left text about the remaining work, printed before the elapsed time
   */
  void endDrain(@Nullable Boolean over, JsonObject change, String left) {
    if (json) {
      print(change.put("outcome", over == null ? "accepted" : over ? "reached" : "timed_out"));
    }
    if (Boolean.FALSE.equals(over)) {
      server.say(left + " still after " + timeout.toMillis() / 1e3 + " s");
      throw new CommandExitException(TIMED_OUT);
    }
  }

  /**
   * Waits if {@code --wait} is set, and prints the outcome for programs.
   *
   * @param change the accepted change, for programs
   */
  void finish(WaitCondition goal, JsonObject change, PrintWriter out) throws InterruptedException {
    ChangeOutcome outcome = await(goal, out);
    if (json) {
      change.put("outcome", outcome.word()).put("causes", causes(outcome));
      print(change);
    }
    outcome.end();
  }

  JsonArray causes(ChangeOutcome outcome) {
    return new JsonArray(outcome.causes().stream().map(server::located).toList());
  }
}

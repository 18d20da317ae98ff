package dev.berth.cli;

import java.time.Duration;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Whether a command stays until what it asked for has come true, and how long at most. */
final class WaitOptions {
  /** The exit code when it has not come true in time. */
  static final int TIMED_OUT = 4;

  private static final int DEFAULT_S = 300;
  private static final int MOST_S = 7 * 24 * 3600;

  /** The command it is mixed into. */
  @Spec(Spec.Target.MIXEE)
  private CommandSpec spec;

  @Option(names = "--wait", description = "Stay until it has come true, or has failed.")
  private boolean wait;

  @Option(
      names = "--timeout-s",
      paramLabel = "SECONDS",
      description = "With --wait, how long at most. Default: " + DEFAULT_S)
  private double timeoutS = DEFAULT_S;

  boolean isAsked() {
    return wait;
  }

  /** Checked before anything is asked for. */
  Duration timeout() {
    if (!(timeoutS > 0 && timeoutS <= MOST_S)) {
      throw new ParameterException(
          spec.commandLine(),
          "--timeout-s: %s (expected: a number of seconds above 0, at most %s)"
              .formatted(timeoutS, MOST_S));
    }
    return Duration.ofNanos((long) (timeoutS * 1e9));
  }
}

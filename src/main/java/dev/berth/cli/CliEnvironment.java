package dev.berth.cli;

import dev.berth.cli.log.Terminal;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Environment of a command: terminal, variables, time.
 *
 * @param terminal whether a user reads the output and can confirm a question
 * @param variables environment variables; null for an unset one
 * @param answer next typed line; null at the end of the input
 * @param nanoClock monotonic nanoseconds
 * @param pause waits for a duration
 * @param stopSignal called once by a command that runs until a stop signal; completes with the name
 *     of the first signal
 */
record CliEnvironment(
    boolean terminal,
    Function<String, @Nullable String> variables,
    Supplier<@Nullable String> answer,
    LongSupplier nanoClock,
    InterruptiblePause pause,
    Supplier<CompletionStage<String>> stopSignal) {

  /** Wait for a duration. */
  @FunctionalInterface
  interface InterruptiblePause {
    /**
     * Returns after a duration, or earlier when {@code stop} completes.
     *
     * @return whether {@code stop} is complete
     */
    boolean until(CompletionStage<?> stop, Duration time) throws InterruptedException;
  }

  /** Returns the environment of this process. */
  static CliEnvironment ofProcess(Supplier<CompletionStage<String>> stopSignal) {
    return new CliEnvironment(
        Terminal.isThere(),
        System::getenv,
        CliEnvironment::readLine,
        System::nanoTime,
        CliEnvironment::pause,
        stopSignal);
  }

  /** Returns whether the output has colours. */
  boolean colours() {
    return terminal && Terminal.wantsColours(variables.apply("NO_COLOR"));
  }

  /** Prints a question on the terminal, and returns whether the typed line is a yes. */
  boolean agrees(String question, PrintWriter out) {
    out.print(question + " [y/N] ");
    out.flush();
    String typed = answer.get();
    return typed != null && typed.strip().toLowerCase(Locale.ROOT).matches("y(es)?");
  }

  private static boolean pause(CompletionStage<?> stop, Duration time) throws InterruptedException {
    try {
      stop.toCompletableFuture().get(time.toNanos(), TimeUnit.NANOSECONDS);
      return true;
    } catch (TimeoutException passed) {
      return false;
    } catch (ExecutionException failed) {
      return true;
    }
  }

  private static @Nullable String readLine() {
    try {
      return new BufferedReader(new InputStreamReader(System.in, Charset.defaultCharset()))
          .readLine();
    } catch (IOException closed) {
      return null;
    }
  }
}

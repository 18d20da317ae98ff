package dev.berth.cli;

import dev.berth.cli.log.Terminal;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a command finds around it: a terminal or none, variables, time.
 *
 * @param terminal whether someone sits there who reads and can be asked
 * @param variables of the environment; null for one that is not set
 * @param answer the next line that is typed; null at the end
 * @param nanoClock monotonic nanoseconds
 * @param pause lets time pass
 * @param stopSignal asked once by a command that goes on until it is told to stop: the name of the
 *     first signal
 */
record Surroundings(
    boolean terminal,
    Function<String, @Nullable String> variables,
    Supplier<@Nullable String> answer,
    LongSupplier nanoClock,
    Pause pause,
    Supplier<CompletionStage<String>> stopSignal) {

  /** Lets time pass. */
  @FunctionalInterface
  interface Pause {
    /**
     * Returns after that time, or sooner when {@code stop} is complete.
     *
     * @return whether it is
     */
    boolean until(CompletionStage<?> stop, Duration time) throws InterruptedException;
  }

  /** Those of this process. */
  static Surroundings ofProcess(Supplier<CompletionStage<String>> stopSignal) {
    return new Surroundings(
        Terminal.isThere(),
        System::getenv,
        Surroundings::readLine,
        System::nanoTime,
        Surroundings::pause,
        stopSignal);
  }

  /** Whether the reader wants them. */
  boolean colours() {
    return terminal && Terminal.wantsColours(variables.apply("NO_COLOR"));
  }

  /** Asks on the terminal; only a yes is one. */
  boolean agrees(String question, PrintWriter out) {
    out.print(question + " [y/N] ");
    out.flush();
    String typed = answer.get();
    return typed != null && typed.strip().toLowerCase(Locale.ROOT).matches("y(es)?");
  }

  /** Returns after that time. */
  void letPass(Duration time) throws InterruptedException {
    pause.until(new CompletableFuture<Void>(), time);
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

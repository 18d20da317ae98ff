package dev.berth.cli;

import dev.berth.cli.log.TextLines;
import java.io.BufferedReader;
import java.io.Console;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
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
        isTerminal(),
        System::getenv,
        Surroundings::readLine,
        System::nanoTime,
        Surroundings::pause,
        stopSignal);
  }

  /** Whether the reader wants them. */
  boolean colours() {
    return terminal && wantsColours(variables.apply("NO_COLOR"));
  }

  /** See no-color.org. */
  private static boolean wantsColours(@Nullable String not) {
    return not == null || not.isEmpty();
  }

  /** How the log of this process is best written to its standard error. */
  static TextLines.Form formOfLog() {
    if (!isErrorTerminal()) {
      return TextLines.Form.FILE;
    }
    return wantsColours(System.getenv("NO_COLOR"))
        ? TextLines.Form.COLOURS
        : TextLines.Form.TERMINAL;
  }

  /** Linux tells where standard error leads; elsewhere the console stands for it. */
  private static boolean isErrorTerminal() {
    try {
      String to = Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString();
      return to.startsWith("/dev/pts/") || to.startsWith("/dev/tty") || to.equals("/dev/console");
    } catch (IOException | UnsupportedOperationException notLinux) {
      return isTerminal();
    }
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

  /** Since Java 22 there is a console without a terminal too, which says so. */
  private static boolean isTerminal() {
    Console console = System.console();
    if (console == null) {
      return false;
    }
    try {
      return Boolean.TRUE.equals(Console.class.getMethod("isTerminal").invoke(console));
    } catch (ReflectiveOperationException beforeJava22) {
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

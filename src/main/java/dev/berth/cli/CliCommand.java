package dev.berth.cli;

import dev.berth.config.ConfigException;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Command of the command line. A return means success; an exception ends the command otherwise. */
@Command(exitCodeListHeading = "%nExit codes:%n", footerHeading = "%nExamples:%n")
abstract class CliCommand implements Callable<Integer> {
  @Spec CommandSpec spec;

  /** Ends a command whose messages are printed already. */
  static final class CommandExitException extends RuntimeException {
    private static final long serialVersionUID = 1;

    final int exitCode;

    CommandExitException(int exitCode) {
      super("exit code " + exitCode, null, false, false);
      this.exitCode = exitCode;
    }
  }

  /**
   * Runs the command. A command that has only subcommands does not override this method.
   *
   * @param out standard output, which is flushed afterwards
   * @throws CommandExitException with the exit code
   * @throws ConfigException whose problems are then printed
   */
  void run(PrintWriter out) throws InterruptedException {
    throw wrong("Missing command: one of " + String.join(", ", spec.subcommands().keySet()));
  }

  @Override
  public final Integer call() throws InterruptedException {
    PrintWriter out = spec.commandLine().getOut();
    try {
      run(out);
      return ExitCode.OK;
    } catch (CommandExitException ended) {
      return ended.exitCode;
    } catch (ConfigException refused) {
      ValidateCommand.print(refused, spec.commandLine().getErr());
      return ExitCode.USAGE;
    } finally {
      out.flush();
    }
  }

  /** Returns the environment of the command. */
  CliEnvironment around() {
    return BerthCommand.around(spec);
  }

  /** Prints one line on standard error. */
  void say(String message) {
    spec.commandLine().getErr().println("berth: " + AdminHttpClient.printable(message));
  }

  /** Prints keys of a file, if any, that a running instance does not receive. */
  void sayNotSent(List<String> keys) {
    if (!keys.isEmpty()) {
      String names = String.join(", ", keys);
      say(names + " of the file: not sent, applied at the start of an instance");
    }
  }

  /** Prints a response on standard output: as JSON, or as text lines. */
  void show(boolean json, JsonObject answer, Supplier<List<String>> lines) {
    if (json) {
      print(answer);
    } else {
      lines.get().forEach(spec.commandLine().getOut()::println);
    }
  }

  /** Prints JSON on standard output. */
  void print(JsonObject json) {
    spec.commandLine().getOut().println(AdminHttpClient.printable(json.encodePrettily()));
  }

  /** Prints the cause of a failure in one line, and returns the exit. */
  CommandExitException failure(String message) {
    say(message);
    return new CommandExitException(ExitCode.SOFTWARE);
  }

  /** Returns the exception for wrong usage. */
  ParameterException wrong(String message) {
    return new ParameterException(spec.commandLine(), message);
  }
}

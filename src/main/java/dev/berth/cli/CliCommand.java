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

/** A command: it went well when it returns, and ends otherwise by what it throws. */
@Command(exitCodeListHeading = "%nExit codes:%n", footerHeading = "%nExamples:%n")
abstract class CliCommand implements Callable<Integer> {
  @Spec CommandSpec spec;

  /** Ends a command: what there was to say is said. */
  static final class Ended extends RuntimeException {
    private static final long serialVersionUID = 1;

    final int exitCode;

    Ended(int exitCode) {
      super("exit code " + exitCode, null, false, false);
      this.exitCode = exitCode;
    }
  }

  /**
   * Does it.
   *
   * @param out standard output; is flushed afterwards
   * @throws Ended with its exit code
   * @throws ConfigException of which each problem is then printed
   */
  abstract void run(PrintWriter out) throws InterruptedException;

  @Override
  public final Integer call() throws InterruptedException {
    PrintWriter out = spec.commandLine().getOut();
    try {
      run(out);
      return ExitCode.OK;
    } catch (Ended ended) {
      return ended.exitCode;
    } catch (ConfigException refused) {
      ValidateCommand.print(refused, spec.commandLine().getErr());
      return ExitCode.USAGE;
    } finally {
      out.flush();
    }
  }

  /** What the command finds around it. */
  Surroundings around() {
    return BerthCommand.around(spec);
  }

  /** One line on standard error. */
  void say(String message) {
    spec.commandLine().getErr().println("berth: " + AdminServer.printable(message));
  }

  /** Prints an answer on standard output: as JSON, or as lines for people. */
  void show(boolean json, JsonObject answer, Supplier<List<String>> lines) {
    if (json) {
      print(answer);
    } else {
      lines.get().forEach(spec.commandLine().getOut()::println);
    }
  }

  /** Prints JSON on standard output. */
  void print(JsonObject json) {
    spec.commandLine().getOut().println(AdminServer.printable(json.encodePrettily()));
  }

  /** A failure, with the one line that says why. */
  Ended failed(String message) {
    say(message);
    return new Ended(ExitCode.SOFTWARE);
  }

  /** Wrong usage. */
  ParameterException wrong(String message) {
    return new ParameterException(spec.commandLine(), message);
  }
}

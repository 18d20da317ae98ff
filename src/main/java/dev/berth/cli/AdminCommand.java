package dev.berth.cli;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** A command that asks the admin server of an instance that runs. */
@Command(exitCodeListHeading = "%nExit codes:%n", footerHeading = "%nExamples:%n")
abstract class AdminCommand implements Callable<Integer> {
  final Surroundings around;

  @Spec CommandSpec spec;

  @Mixin final AdminServer server;

  AdminCommand(Surroundings around) {
    this.around = around;
    this.server = new AdminServer(around);
  }

  /**
   * Does it.
   *
   * @param out standard output; is flushed afterwards
   * @return the exit code
   * @throws AdminServer.NoAnswer that ends it with its own exit code
   */
  abstract int run(PrintWriter out) throws InterruptedException;

  @Override
  public final Integer call() throws InterruptedException {
    PrintWriter out = spec.commandLine().getOut();
    try {
      return run(out);
    } catch (AdminServer.NoAnswer said) {
      return said.exitCode;
    } finally {
      out.flush();
    }
  }
}

package dev.berth.cli;

import dev.berth.cli.log.ProcessLog;
import dev.berth.code.StartFailedException;
import dev.berth.config.ConfigException;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import io.vertx.core.Future;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import picocli.CommandLine.ExitCode;

/** Life of a process that is a node: start, service until a stop signal, drain. */
final class NodeProcess {
  private NodeProcess() {}

  /**
   * Starts a node, and returns after its drain.
   *
   * @param start starts a node, unless the signal comes first
   * @param started called once the node serves, with the stop signal
   * @throws CliCommand.CommandExitException when the node did not start, or not drain in time
   * @throws ConfigException with problems that only the application's code reveals
   */
  static void serve(
      CliCommand command,
      BiFunction<ServeConfig, CompletionStage<String>, Future<NodeHandle>> start,
      ServeConfig effective,
      BiConsumer<NodeHandle, CompletionStage<String>> started)
      throws InterruptedException {
    PrintWriter err = command.spec.commandLine().getErr();
    Runnable printAgain = ProcessLog.apply(effective);
    effective.warnings().forEach(err::println);
    boolean drained;
    try {
      CompletionStage<String> stop = command.around().stopSignal().get();
      NodeHandle node =
          start.apply(effective, stop).toCompletionStage().toCompletableFuture().get();
      started.accept(node, stop);
      drained = node.drainAfter(stop, effective.get(InstanceOptions.SHUTDOWN_TIMEOUT_S));
    } catch (ExecutionException failed) {
      throw startFailed(failed.getCause(), err);
    } catch (RuntimeException failed) {
      throw startFailed(failed, err); // thrown before the future existed
    } finally {
      printAgain.run();
    }
    if (!drained) {
      throw new CliCommand.CommandExitException(ExitCode.SOFTWARE);
    }
  }

  private static RuntimeException startFailed(Throwable cause, PrintWriter err) {
    if (cause instanceof ConfigException refused) {
      return refused;
    }
    err.println("berth: cannot start: " + messages(cause));
    boolean expected =
        cause instanceof IOException
            || cause instanceof IllegalArgumentException
            || cause instanceof StartFailedException;
    if (!expected) {
      cause.printStackTrace(err); // a bug in Berth or in the application
    }
    return new CliCommand.CommandExitException(ExitCode.SOFTWARE);
  }

  private static String messages(Throwable cause) {
    StringBuilder text = new StringBuilder();
    for (Throwable each = cause; each != null; each = each.getCause()) {
      String message = each.getMessage();
      text.append(text.isEmpty() ? "" : ": ")
          .append(message == null ? each.getClass().getSimpleName() : message);
    }
    return text.toString();
  }
}

package dev.berth.cli;

import static dev.berth.cli.ConfigSource.settingOf;

import dev.berth.cli.log.ProcessLog;
import dev.berth.cli.process.NodeHandle;
import dev.berth.code.StartFailedException;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigReader;
import dev.berth.config.Environment;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import io.vertx.core.Future;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Command {@code berth run}: starts a node, waits for a stop signal, then drains the node. */
@Command(
    name = "run",
    header = "Serves the applications of a file and those deployed earlier, until it is stopped.",
    description = {
      "SIGTERM and SIGINT drain: they close the listeners and wait for requests in flight for at"
          + " most berth.shutdown_timeout_s. A second signal ends the process at once.",
      "Options override --set, and --set overrides the file.",
      "Deployed applications are stored in a directory, which the first deploy creates, and run"
          + " again after a restart. An application of the file replaces the stored one only if the"
          + " file changed since its last declaration and the stored one was not deployed since."
          + " Applications removed from the file are deleted unless a command deployed them since."
    },
    exitCodeList = {
      "0:drained and stopped",
      "1:could not start, or did not drain in time",
      "2:wrong usage, or a configuration with problems; nothing was started. With stored"
          + " applications, a problem of one is logged as an error, and its stored revision serves",
      "5:out of memory: the heap stayed full, see berth.halt_on_full_heap"
    },
    footer = {
      "  berth run conf/quickstart.yaml",
      "  berth run conf/quickstart.yaml --host 127.0.0.1 --port 0 --admin-port 0",
      "  berth run conf/quickstart.yaml \\",
      "    --set applications.echo.deployments.echo.num_replicas=4",
      "  berth run conf/quickstart.yaml --set berth.limits.max_body_bytes=1048576",
      "  berth run --state-dir /tmp/berth-state",
      "  berth run conf/quickstart.yaml --declare=never",
      "  berth run trial/n1.yaml --adopt"
    })
final class RunCommand extends CliCommand {

  private final BiFunction<ServeConfig, CompletionStage<String>, Future<NodeHandle>> start;

  @Parameters(
      paramLabel = "CONFIG",
      arity = "0..1",
      description = "YAML or JSON file. Without it, the instance waits for deploys.")
  private @Nullable Path file;

  @Mixin private ConfigSource.ConfigOverrides assignments = new ConfigSource.ConfigOverrides();

  @Mixin private ConfigSource.ListenOptions addresses = new ConfigSource.ListenOptions();

  @Option(
      names = "--state-dir",
      paramLabel = "DIR",
      description = "Directory of stored applications. Default: ./berth-state")
  private @Nullable String stateDir;

  @Option(
      names = "--ephemeral",
      description = "Stores deployed applications in memory only; they end with the process.")
  private @Nullable Boolean ephemeral;

  @Option(
      names = "--declare",
      paramLabel = "WHAT",
      description = {
        "Applications of the file to declare over stored ones: changed, those that changed in the"
            + " file (the default); all; never, none."
      })
  private @Nullable String declare;

  @Option(
      names = "--adopt",
      arity = "0..1",
      fallbackValue = "?",
      paramLabel = "STATE",
      description = {
        "Makes the nodes of a cluster follow this control node, whose state was lost or is older"
            + " than theirs. Without STATE, shows the replicas that would stop and the STATE to"
            + " use."
      })
  private @Nullable String adopt;

  /**
   * @param start starts a node, unless the signal comes first
   */
  RunCommand(BiFunction<ServeConfig, CompletionStage<String>, Future<NodeHandle>> start) {
    this.start = start;
  }

  @Override
  void run(PrintWriter out) throws InterruptedException {
    List<Setting> settings = Environment.settings(around().variables());
    List<Setting> options = new ArrayList<>(addresses.settings());
    Stream.of(
            settingOf("--state-dir", "berth.state_dir", stateDir),
            settingOf("--ephemeral", "berth.ephemeral", ephemeral),
            settingOf("--declare", "berth.declare", declare),
            settingOf("--adopt", "berth.cluster.adopt", adopt))
        .forEach(each -> each.forEach(options::add));
    settings.addAll(assignments.with(options));
    ServeConfig effective = read(settings);
    serve(this, start, effective, (node, stop) -> {});
  }

  private ServeConfig read(List<Setting> settings) {
    return file != null
        ? ConfigReader.readToStart(file, settings)
        : ConfigReader.read("no file", Path.of("").toAbsolutePath(), "{}", settings);
  }

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

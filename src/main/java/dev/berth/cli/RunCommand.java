package dev.berth.cli;

import dev.berth.config.AdminOptions;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigReader;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.node.StartFailedException;
import io.vertx.core.Future;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code berth run}: starts a node and stays until it is told to stop, then drains it. */
@Command(
    name = "run",
    header = "Serves the applications of a configuration until told to stop.",
    description = {
      "SIGTERM and SIGINT drain: no new connections, requests under way finish, at most"
          + " berth.shutdown_timeout_s. A second signal ends at once.",
      "The options win over the file."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:drained and stopped",
      "1:could not start, or did not drain in time",
      "2:wrong usage, or a configuration with problems; nothing was started"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  berth run conf/quickstart.yaml",
      "  berth run conf/quickstart.yaml --host 127.0.0.1 --port 0 --admin-port 0"
    })
final class RunCommand implements Callable<Integer> {

  private final Function<ServeConfig, Future<? extends RunningNode>> start;
  private final Supplier<CompletionStage<String>> stopSignal;

  @Spec private CommandSpec spec;

  @Parameters(paramLabel = "CONFIG", description = "A YAML or JSON file.")
  private Path config;

  @Option(names = "--host", paramLabel = "HOST", description = "Address of the HTTP server.")
  private @Nullable String host;

  @Option(
      names = "--port",
      paramLabel = "PORT",
      description = "Port of the HTTP server; 0 takes any free one.")
  private @Nullable Integer port;

  @Option(names = "--admin-host", paramLabel = "HOST", description = "Address of the admin server.")
  private @Nullable String adminHost;

  @Option(
      names = "--admin-port",
      paramLabel = "PORT",
      description = "Port of the admin server; 0 takes any free one.")
  private @Nullable Integer adminPort;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  private boolean help;

  /**
   * @param start starts a node
   * @param stopSignal called once, before the start; its stage gives the name of the first signal
   */
  RunCommand(
      Function<ServeConfig, Future<? extends RunningNode>> start,
      Supplier<CompletionStage<String>> stopSignal) {
    this.start = start;
    this.stopSignal = stopSignal;
  }

  @Override
  public Integer call() throws InterruptedException {
    ServeConfig effective;
    try {
      effective = override(ConfigReader.read(config));
    } catch (ConfigException refused) {
      return refuse(refused);
    }
    effective.warnings().forEach(spec.commandLine().getErr()::println);
    try {
      boolean drained = NodeRun.untilStopped(effective, start, stopSignal.get());
      return drained ? ExitCode.OK : ExitCode.SOFTWARE;
    } catch (ExecutionException failed) {
      return startFailed(failed.getCause());
    } catch (RuntimeException failed) {
      return startFailed(failed); // thrown before there was a future
    }
  }

  private ServeConfig override(ServeConfig file) {
    HttpOptions http = file.httpOptions();
    InstanceOptions berth = file.berth();
    AdminOptions admin = berth.admin();
    try {
      return file.withHttpOptions(http.withAddress(or(host, http.host()), or(port, http.port())))
          .withBerth(
              berth.withAdmin(
                  new AdminOptions(or(adminHost, admin.host()), or(adminPort, admin.port()))));
    } catch (IllegalArgumentException outOfRange) {
      throw new ParameterException(
          spec.commandLine(), "Invalid value of an option: " + outOfRange.getMessage(), outOfRange);
    }
  }

  private int refuse(ConfigException refused) {
    ValidateCommand.print(refused, spec.commandLine().getErr());
    return ExitCode.USAGE;
  }

  private int startFailed(Throwable cause) {
    if (cause instanceof ConfigException refused) {
      return refuse(refused); // what only the application's own code can tell
    }
    PrintWriter err = spec.commandLine().getErr();
    err.println("berth: cannot start: " + messages(cause));
    if (!isExpected(cause)) {
      cause.printStackTrace(err); // a bug, here or in the application
    }
    return ExitCode.SOFTWARE;
  }

  private static boolean isExpected(Throwable cause) {
    return cause instanceof IOException
        || cause instanceof IllegalArgumentException
        || cause instanceof StartFailedException;
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

  private static <T> T or(@Nullable T option, T file) {
    return option != null ? option : file;
  }
}

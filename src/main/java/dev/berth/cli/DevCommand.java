package dev.berth.cli;

import dev.berth.cli.dev.DevelopmentLoop;
import dev.berth.cli.dev.ScratchDirectory;
import dev.berth.cli.log.ProcessLog;
import dev.berth.cli.process.NodeHandle;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigReader;
import dev.berth.config.DeployPayload;
import dev.berth.config.Environment;
import dev.berth.config.HttpOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import io.vertx.core.Future;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Command {@code berth dev}: serves the applications of a project, and follows its changes. */
@Command(
    name = "dev",
    header = "Serves the applications of a Maven or Gradle project, and follows its changes.",
    description = {
      "Compiles changed Java sources itself, runs the build tool for other changes, and deploys the"
          + " result. While the project has errors, its applications respond 503 with them.",
      "Listens on 127.0.0.1, whatever the file has, unless an option changes it. Stores nothing."
    },
    exitCodeList = {
      "0:drained and stopped",
      "1:could not start: a port in use, another berth dev in the folder, or no JDK",
      "2:wrong usage, no project, or a file with problems"
    },
    footer = {
      "  berth dev",
      "  berth dev --port 9000 --admin-port 0",
      "  berth dev --by-build-tool"
    })
final class DevCommand extends CliCommand {
  private static final long POLL_MS = 40;
  private static final long END_MS = 5_000;
  private static final String OPTION = "berth dev";

  private final BiFunction<ServeConfig, CompletionStage<String>, Future<NodeHandle>> start;

  @Parameters(
      paramLabel = "CONFIG",
      arity = "0..1",
      description = "YAML or JSON file. Default: berth.yaml or serve.yaml of the current folder")
  private @Nullable Path file;

  @Mixin private ConfigSource.ConfigOverrides assignments = new ConfigSource.ConfigOverrides();
  @Mixin private ConfigSource.ListenOptions addresses = new ConfigSource.ListenOptions();

  @Option(
      names = "--by-build-tool",
      description = "Compiles Java by the build tool too, for plugins that change classes.")
  private boolean byBuildTool;

  /**
   * @param start starts a node, unless the signal comes first
   */
  DevCommand(BiFunction<ServeConfig, CompletionStage<String>, Future<NodeHandle>> start) {
    this.start = start;
  }

  @Override
  void run(PrintWriter out) throws InterruptedException {
    if (ToolProvider.getSystemJavaCompiler() == null) {
      String home = System.getProperty("java.home");
      throw failure("dev: no compiler in " + home + " (expected: a JDK, named by JAVA_HOME)");
    }
    Path found =
        Stream.of(file, Path.of("berth.yaml"), Path.of("serve.yaml"))
            .filter(each -> each != null && (each.equals(file) || Files.exists(each)))
            .findFirst()
            .orElseThrow(
                () -> wrong("CONFIG: missing (expected: berth.yaml, serve.yaml or a file)"))
            .toAbsolutePath()
            .normalize();
    List<Setting> settings = settings();
    List<Setting> empty = new ArrayList<>(settings);
    empty.add(Setting.yaml(OPTION, "applications", "[]"));
    ServeConfig effective = ConfigReader.read(found, empty);
    try (ScratchDirectory scratch = ScratchDirectory.lock(found)) {
      RunningInstance instance = new RunningInstance(found, effective);
      DevelopmentLoop loop =
          DevelopmentLoop.find(found, scratch.path(), settings, byBuildTool, instance);
      if (loop == null) {
        throw wrong(
            found + ": no project (expected: pom.xml or build.gradle at or above its folder)");
      }
      serve(effective, loop, instance);
    } catch (IOException failed) {
      throw failure("dev: " + failed.getMessage());
    }
  }

  private void serve(ServeConfig effective, DevelopmentLoop loop, RunningInstance instance)
      throws InterruptedException {
    Thread follower =
        new Thread(
            () -> {
              try {
                loop.run();
              } catch (InterruptedException stopped) {
                // The command ends.
              }
            },
            "berth-dev");
    try {
      RunCommand.serve(
          this,
          start,
          effective,
          (node, stop) -> {
            ProcessLog.hideProgress(effective);
            instance.node.complete(node);
            follower.start();
            stop.thenRun(follower::interrupt);
            node.stopAsked().onComplete(asked -> follower.interrupt());
          });
    } finally {
      follower.interrupt();
      follower.join(END_MS);
    }
  }

  /** Returns the settings over the file: local by default, and never stored. */
  private List<Setting> settings() {
    List<Setting> all = new ArrayList<>(Environment.settings(around().variables()));
    all.add(Setting.text(OPTION, "http_options.host", "127.0.0.1"));
    all.add(Setting.text(OPTION, "berth.admin.host", "127.0.0.1"));
    all.add(Setting.yaml(OPTION, "berth.admin.bearer_tokens", "[]"));
    all.add(Setting.yaml(OPTION, "berth.admin.tls", "null"));
    all.addAll(assignments.with(addresses.settings()));
    all.add(Setting.yaml(OPTION, "berth.ephemeral", "true"));
    all.add(Setting.yaml(OPTION, "berth.cluster", "null"));
    return all;
  }

  /** Instance in this process, which the loop commands over its admin server. */
  private final class RunningInstance implements DevelopmentLoop.DeployTarget {
    private final CompletableFuture<NodeHandle> node = new CompletableFuture<>();
    private final Path file;
    private final ServeConfig atStart;
    private final Set<String> shown = new HashSet<>(); // URLs
    private List<String> notSent = List.of(); // keys

    RunningInstance(Path file, ServeConfig atStart) {
      this.file = file;
      this.atStart = atStart;
    }

    @Override
    public void print(String line) {
      say(line);
    }

    @Override
    public void pause(long ms) throws InterruptedException {
      around().pause().until(new CompletableFuture<Void>(), Duration.ofMillis(ms));
    }

    @Override
    public DevelopmentLoop.DeployResult deploy(List<Setting> settings, BooleanSupplier abandoned)
        throws InterruptedException {
      DeployPayload payload = ConfigReader.submission(file, settings);
      List<String> changed = payload.changedSince(atStart);
      if (!changed.equals(notSent)) {
        notSent = changed;
        sayNotSent(changed);
      }
      AdminHttpClient server = AdminHttpClient.local(spec, node.join().adminPort());
      server.deploys(payload, null);
      AdminHttpClient.AdminHttpReply reply =
          server.send("PUT", "/api/v1/applications", new JsonObject(payload.document()).encode());
      JsonObject accepted = reply.with("applications", JsonArray.class);
      if (accepted == null) {
        return refusal(server, AdminHttpClient.problems(reply.body()));
      }
      Map<String, Long> revisions = new HashMap<>();
      for (JsonObject each : ServeStatus.list(accepted, "applications")) {
        revisions.put(ServeStatus.text(each, "name"), ServeStatus.number(each, "revision"));
      }
      revisions.keySet().retainAll(payload.applications().keySet());
      WaitCondition goal = new WaitCondition.RunningCondition(revisions);
      while (!abandoned.getAsBoolean()) {
        ServeStatus status = server.get(ServeStatus.PATH).serve();
        if (status != null) {
          var verdict = goal.judge(status, around().nanoClock().getAsLong());
          if (verdict.reached()) {
            return running(payload.config(), status);
          } else if (verdict.failed()) {
            return refusal(server, verdict.causes());
          }
        }
        pause(POLL_MS);
      }
      return new DevelopmentLoop.DeployResult(List.of(), Map.of());
    }

    private DevelopmentLoop.DeployResult refusal(AdminHttpClient server, List<String> problems) {
      List<String> located = problems.stream().map(server::located).toList();
      return new DevelopmentLoop.DeployResult(located, Map.of());
    }

    /** Returns the running deployments, and prints the URLs that were not printed yet. */
    private DevelopmentLoop.DeployResult running(ServeConfig config, ServeStatus status) {
      String scheme = config.settings().find(HttpOptions.SSL_CERTFILE) == null ? "http" : "https";
      String base = scheme + "://" + config.get(HttpOptions.HOST) + ":" + node.join().port();
      for (ApplicationConfig each : config.applications()) {
        String prefix = each.get(ApplicationConfig.ROUTE_PREFIX);
        String url = each.name() + ": " + base + config.get(HttpOptions.ROOT_PATH) + prefix;
        if (prefix != null && shown.add(url)) {
          print(url);
        }
      }
      Map<String, List<String>> deployments = new HashMap<>();
      for (ServeStatus.ReportedApplication each : status.applications()) {
        var names =
            each.deployments().stream()
                .filter(of -> of.revisions().equals("" + each.revision())) // no former ones
                .map(ServeStatus.ReportedDeployment::name);
        deployments.put(each.name(), names.toList());
      }
      return new DevelopmentLoop.DeployResult(List.of(), deployments);
    }
  }
}

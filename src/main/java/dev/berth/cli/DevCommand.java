package dev.berth.cli;

import static java.util.stream.Collectors.toMap;

import dev.berth.cli.dev.DevelopmentLoop;
import dev.berth.cli.dev.DevelopmentLoop.DeployResult;
import dev.berth.cli.dev.ScratchDirectory;
import dev.berth.cli.log.ProcessLog;
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
import java.util.LinkedHashSet;
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
      "Builds the project of the file, without its tests, and serves the file's applications. At"
          + " each change of a Java source, this process compiles all of them and deploys the"
          + " result. At a change of a build file or of another source, the build tool runs again:"
          + " mvnw or gradlew at or above the project, else mvn or gradle.",
      "While the project has errors, its applications respond 503 with the errors. Nothing is"
          + " stored. HTTP and admin server listen on 127.0.0.1, whatever the file has; only"
          + " --host or --set changes it. berth.cluster of the file is ignored."
    },
    exitCodeList = {
      "0:drained and stopped",
      "1:could not start: a port in use, another berth dev in the folder, or a Java without a"
          + " compiler",
      "2:wrong usage, no project, or a file with problems"
    },
    footer = {
      "  berth dev",
      "  berth dev --port 9000 --admin-port 0",
      "  berth dev --set http_options.request_timeout_s=5",
      "  berth dev --by-build-tool"
    })
final class DevCommand extends CliCommand {
  private static final Duration POLL = Duration.ofMillis(40);
  private static final List<String> FILES = List.of("berth.yaml", "serve.yaml");
  private static final long END_MS = 5_000;

  private final BiFunction<ServeConfig, CompletionStage<String>, Future<NodeHandle>> start;
  private final List<Setting> options = new ArrayList<>();
  private final Set<String> shown = new LinkedHashSet<>(); // URLs

  @Parameters(
      paramLabel = "CONFIG",
      arity = "0..1",
      description = "YAML or JSON file. Default: berth.yaml or serve.yaml of the current folder")
  private @Nullable Path given;

  @Mixin private ConfigSource.ConfigOverrides assignments = new ConfigSource.ConfigOverrides();

  @Option(
      names = "--host",
      paramLabel = "HOST",
      description = "Address of the HTTP server. Default: 127.0.0.1")
  private void host(String host) {
    options.add(Setting.text("--host", "http_options.host", host));
  }

  @Option(
      names = "--port",
      paramLabel = "PORT",
      description = "Port of the HTTP server; 0 selects a free one.")
  private void port(Integer port) {
    options.add(Setting.yaml("--port", "http_options.port", String.valueOf(port)));
  }

  @Option(
      names = "--admin-port",
      paramLabel = "PORT",
      description = "Port of the admin server; 0 selects a free one.")
  private void adminPort(Integer adminPort) {
    options.add(Setting.yaml("--admin-port", "berth.admin.port", String.valueOf(adminPort)));
  }

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
    Path file = file();
    List<Setting> settings = settings();
    List<Setting> empty = new ArrayList<>(settings);
    empty.add(Setting.yaml("berth dev", "applications", "[]"));
    ServeConfig effective = ConfigReader.read(file, empty);
    try (ScratchDirectory scratch = ScratchDirectory.lock(file)) {
      serve(file, settings, effective, scratch.path());
    } catch (IOException failed) {
      throw failure("dev: " + failed.getMessage());
    }
  }

  private void serve(Path file, List<Setting> settings, ServeConfig effective, Path scratch)
      throws InterruptedException {
    CompletableFuture<NodeHandle> node = new CompletableFuture<>();
    DevelopmentLoop loop;
    try {
      loop =
          DevelopmentLoop.of(
              file,
              scratch,
              settings,
              byBuildTool,
              this::say,
              (payload, abandoned) -> deploy(payload, abandoned, node.join()));
    } catch (IllegalArgumentException noProject) {
      throw wrong(noProject.getMessage());
    }
    Thread follower = new Thread(() -> follow(loop), "berth-dev");
    try {
      NodeProcess.serve(
          this,
          start,
          effective,
          (started, stop) -> {
            ProcessLog.hideProgress(effective);
            node.complete(started);
            follower.start();
            stop.thenRun(follower::interrupt);
            started.stopAsked().onComplete(asked -> follower.interrupt());
          });
    } finally {
      follower.interrupt();
      follower.join(END_MS);
    }
  }

  private void follow(DevelopmentLoop loop) {
    try {
      loop.run();
    } catch (InterruptedException stopped) {
      // The command ends.
    }
  }

  private Path file() {
    Path found = given;
    if (found == null) {
      found = FILES.stream().map(Path::of).filter(Files::exists).findFirst().orElse(null);
    }
    if (found == null) {
      String folder = String.valueOf(Path.of("").toAbsolutePath());
      throw wrong("dev: no " + String.join(" and no ", FILES) + " in " + folder);
    }
    return found.toAbsolutePath().normalize();
  }

  /** Returns the settings over the file: local by default, and never stored. */
  private List<Setting> settings() {
    List<Setting> all = new ArrayList<>(Environment.settings(around().variables()));
    all.add(Setting.text("berth dev", "http_options.host", "127.0.0.1"));
    all.addAll(assignments.with(options));
    all.add(Setting.text("berth dev", "berth.admin.host", "127.0.0.1"));
    all.add(Setting.yaml("berth dev", "berth.admin.bearer_tokens", "[]"));
    all.add(Setting.yaml("berth dev", "berth.ephemeral", "true"));
    all.add(Setting.yaml("berth dev", "berth.cluster", "null"));
    return all;
  }

  private DeployResult deploy(DeployPayload payload, BooleanSupplier abandoned, NodeHandle node)
      throws InterruptedException {
    AdminHttpClient server = AdminHttpClient.local(spec, node.adminPort());
    server.deploys(payload, null);
    AdminHttpClient.AdminHttpReply reply =
        server.send("PUT", "/api/v1/applications", new JsonObject(payload.document()).encode());
    JsonObject accepted = reply.with("applications", JsonArray.class);
    if (accepted == null) {
      List<String> problems = AdminHttpClient.problems(reply.body());
      return new DeployResult(problems.stream().map(server::located).toList(), Map.of());
    }
    Map<String, Long> revisions = new HashMap<>();
    for (JsonObject each : ServeStatus.list(accepted, "applications")) {
      revisions.put(ServeStatus.text(each, "name"), ServeStatus.number(each, "revision"));
    }
    revisions.keySet().retainAll(payload.applications().keySet());
    WaitCondition goal = new WaitCondition.RunningCondition(revisions);
    while (!abandoned.getAsBoolean()) {
      ServeStatus status = server.get(ServeStatus.PATH).serve();
      WaitCondition.ConditionVerdict verdict =
          status == null ? null : goal.judge(status, around().nanoClock().getAsLong());
      if (status != null && verdict != null && verdict.reached()) {
        show(payload.config(), node.port());
        return new DeployResult(
            List.of(),
            status.applications().stream()
                .collect(
                    toMap(
                        ServeStatus.ReportedApplication::name,
                        each ->
                            each.deployments().stream()
                                .map(ServeStatus.ReportedDeployment::name)
                                .toList())));
      } else if (verdict != null && verdict.failed()) {
        return new DeployResult(verdict.causes().stream().map(server::located).toList(), Map.of());
      }
      around().pause().until(new CompletableFuture<Void>(), POLL);
    }
    return new DeployResult(List.of(), Map.of());
  }

  /** Prints the URLs that were not printed yet. */
  private void show(ServeConfig config, int port) {
    String scheme = config.settings().find(HttpOptions.SSL_CERTFILE) == null ? "http" : "https";
    String host = config.get(HttpOptions.HOST);
    String base = scheme + "://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    config.applications().stream()
        .flatMap(
            each -> {
              String prefix = each.get(ApplicationConfig.ROUTE_PREFIX);
              return prefix == null
                  ? Stream.empty()
                  : Stream.of(
                      each.name() + ": " + base + config.get(HttpOptions.ROOT_PATH) + prefix);
            })
        .filter(shown::add)
        .forEach(this::say);
  }
}

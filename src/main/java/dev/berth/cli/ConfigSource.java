package dev.berth.cli;

import dev.berth.config.ConfigReader;
import dev.berth.config.DeployPayload;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** File of a command, with the command line's settings that override the file. */
final class ConfigSource {
  /** Settings of the command line that override the file. */
  static final class ConfigOverrides {

    @Option(
        names = "--set",
        paramLabel = "KEY=VALUE",
        description = {
          "Sets one key over the file; repeatable. The key is a path, such as http_options.port. A"
              + " list entry is addressed by name or index:"
              + " applications.echo.deployments.echo.num_replicas or applications[0].args.",
          "The value is YAML. Relative paths in it are resolved against the current folder."
        })
    private List<String> assignments = new ArrayList<>();

    /**
     * @param options settings that override {@code --set}
     */
    List<Setting> with(List<Setting> options) {
      return Stream.concat(
              assignments.stream().map(each -> Setting.parse("--set", each)), options.stream())
          .toList();
    }
  }

  /** Addresses of an instance, which override the file and {@code --set}. */
  static final class ListenOptions {
    /** Settings of the given options. */
    final List<Setting> settings = new ArrayList<>();

    @Option(names = "--host", paramLabel = "HOST", description = "Address of the HTTP server.")
    private void host(String host) {
      settings.add(Setting.text("--host", "http_options.host", host));
    }

    @Option(
        names = "--port",
        paramLabel = "PORT",
        description = "Port of the HTTP server; 0 selects a free one.")
    private void port(Integer port) {
      settings.add(Setting.yaml("--port", "http_options.port", String.valueOf(port)));
    }

    @Option(
        names = "--admin-host",
        paramLabel = "HOST",
        description = "Address of the admin server.")
    private void adminHost(String adminHost) {
      settings.add(Setting.text("--admin-host", "berth.admin.host", adminHost));
    }

    @Option(
        names = "--admin-port",
        paramLabel = "PORT",
        description = "Port of the admin server; 0 selects a free one.")
    private void adminPort(Integer adminPort) {
      settings.add(Setting.yaml("--admin-port", "berth.admin.port", String.valueOf(adminPort)));
    }
  }

  @Parameters(paramLabel = "CONFIG", description = "YAML or JSON file.")
  Path file;

  @Mixin private ConfigOverrides assignments = new ConfigOverrides();

  /**
   * @param options settings that override {@code --set}
   */
  ServeConfig read(List<Setting> options) {
    return ConfigReader.read(file, assignments.with(options));
  }

  /** Returns the submission for a running instance. */
  DeployPayload submission() {
    return ConfigReader.submission(file, assignments.with(List.of()));
  }
}

package dev.berth.cli;

import dev.berth.config.ConfigReader;
import dev.berth.config.DeployPayload;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
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
    @Option(names = "--host", paramLabel = "HOST", description = "Address of the HTTP server.")
    private @Nullable String host;

    @Option(
        names = "--port",
        paramLabel = "PORT",
        description = "Port of the HTTP server; 0 selects a free one.")
    private @Nullable Integer port;

    @Option(
        names = "--admin-host",
        paramLabel = "HOST",
        description = "Address of the admin server.")
    private @Nullable String adminHost;

    @Option(
        names = "--admin-port",
        paramLabel = "PORT",
        description = "Port of the admin server; 0 selects a free one.")
    private @Nullable Integer adminPort;

    /** Returns the settings of the given options. */
    List<Setting> settings() {
      return Stream.of(
              settingOf("--host", "http_options.host", host),
              settingOf("--port", "http_options.port", port),
              settingOf("--admin-host", "berth.admin.host", adminHost),
              settingOf("--admin-port", "berth.admin.port", adminPort))
          .flatMap(each -> each)
          .toList();
    }
  }

  /** Returns the setting of an option; none without a value. */
  static Stream<Setting> settingOf(String option, String key, @Nullable Object value) {
    return Stream.ofNullable(value)
        .map(each -> new Setting(option, key, each.toString(), each instanceof String));
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

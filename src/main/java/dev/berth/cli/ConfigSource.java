package dev.berth.cli;

import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import dev.berth.config.Submission;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The file of a command, and what the command line sets over it. */
final class ConfigSource {

  @Parameters(paramLabel = "CONFIG", description = "A YAML or JSON file.")
  private Path file;

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description = {
        "Sets one key over the file; may be repeated. The key is a path, as in http_options.port;"
            + " an entry of a list goes by its name or its index, as in"
            + " applications.echo.deployments.echo.num_replicas or applications[0].args.",
        "The value is YAML. Relative paths in it start from the current folder."
      })
  private List<String> assignments = new ArrayList<>();

  Path file() {
    return file;
  }

  /**
   * @param options that win over {@code --set}
   */
  ServeConfig read(List<Setting> options) {
    List<Setting> settings = settings();
    settings.addAll(options);
    return ConfigReader.read(file, settings);
  }

  /** For an instance that runs. */
  Submission submission() {
    return ConfigReader.submission(file, settings());
  }

  private List<Setting> settings() {
    List<Setting> settings = new ArrayList<>();
    for (String assignment : assignments) {
      settings.add(Setting.parse("--set", assignment));
    }
    return settings;
  }
}

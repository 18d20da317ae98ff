package dev.berth.cli;

import dev.berth.config.ConfigReader;
import dev.berth.config.DeployPayload;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** File of a command, with the command line's settings that override the file. */
final class ConfigSource {

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

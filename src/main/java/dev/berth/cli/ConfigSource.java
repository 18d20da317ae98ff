package dev.berth.cli;

import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import dev.berth.config.Submission;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** The file of a command, and what the command line sets over it. */
final class ConfigSource {

  @Parameters(paramLabel = "CONFIG", description = "A YAML or JSON file.")
  private Path file;

  @Mixin private Assignments assignments = new Assignments();

  Path file() {
    return file;
  }

  /**
   * @param options that win over {@code --set}
   */
  ServeConfig read(List<Setting> options) {
    return ConfigReader.read(file, assignments.with(options));
  }

  /** For an instance that runs. */
  Submission submission() {
    return ConfigReader.submission(file, assignments.with(List.of()));
  }
}

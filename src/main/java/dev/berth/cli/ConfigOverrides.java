package dev.berth.cli;

import dev.berth.config.Setting;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine.Option;

/** Settings of the command line that override the file. */
final class ConfigOverrides {

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

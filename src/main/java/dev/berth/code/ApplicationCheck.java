package dev.berth.code;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Problem;
import java.util.ArrayList;
import java.util.List;

/** What can be told of a configuration's applications without running their code. */
public final class ApplicationCheck {

  private ApplicationCheck() {}

  /**
   * Opens the jars and looks for the builders, of every application. Blocks on the disk.
   *
   * @return every problem, in the order of the file; empty when each builder is there
   */
  public static List<Problem> problems(ServeConfig config) {
    List<Problem> problems = new ArrayList<>();
    for (ApplicationConfig application : config.applications()) {
      try {
        ApplicationCode.find(application).close();
      } catch (ConfigException refused) {
        problems.addAll(refused.problems());
      }
    }
    return problems;
  }
}

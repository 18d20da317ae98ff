package dev.berth.code;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.ConfigProblem;
import java.util.ArrayList;
import java.util.List;

/** Validator of a configuration's applications that does not run their code. */
public final class ApplicationCheck {

  private ApplicationCheck() {}

  /**
   * Opens the jars of every application and looks up the builders. Blocks on disk access.
   *
   * @return all problems, in the order of the file; empty when each builder exists
   */
  public static List<ConfigProblem> problems(ServeConfig config) {
    List<ConfigProblem> problems = new ArrayList<>();
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

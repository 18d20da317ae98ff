package dev.berth.config;

import dev.berth.config.keys.ConfigProblem;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Refusal of a configuration, with all its problems. Has no stack trace, because it is an expected
 * result.
 */
public final class ConfigException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final transient List<ConfigProblem> problems;

  /**
   * Creates a refusal.
   *
   * @param problems in the order of the file; may contain warnings, but at least one error
   */
  public ConfigException(List<ConfigProblem> problems) {
    super(
        problems.stream().map(ConfigProblem::toString).collect(Collectors.joining("\n")),
        null,
        false,
        false);
    if (problems.stream().allMatch(ConfigProblem::isWarning)) {
      throw new IllegalArgumentException(
          "problems: " + problems + " (expected: at least one that is not a warning)");
    }
    this.problems = List.copyOf(problems);
  }

  /** Returns the problems in the order of the file, including warnings. */
  public List<ConfigProblem> problems() {
    return problems;
  }
}

package dev.berth.config;

import dev.berth.config.keys.Problem;
import java.util.List;
import java.util.stream.Collectors;

/** A configuration that was refused, with everything that is wrong with it. Stackless: expected. */
public final class ConfigException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final transient List<Problem> problems;

  /**
   * {@code problems} keep their order, which is that of the file. Warnings may be among them, but
   * not they alone.
   */
  public ConfigException(List<Problem> problems) {
    super(
        problems.stream().map(Problem::toString).collect(Collectors.joining("\n")),
        null,
        false,
        false);
    if (problems.stream().allMatch(Problem::isWarning)) {
      throw new IllegalArgumentException(
          "problems: " + problems + " (expected: at least one that is no warning)");
    }
    this.problems = List.copyOf(problems);
  }

  /** In the order of the file, warnings too. */
  public List<Problem> problems() {
    return problems;
  }
}

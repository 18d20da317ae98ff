package dev.berth.config.keys;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Collector of problems: the first errors and warnings, and their numbers. Confined to one thread.
 */
public final class Problems {

  /** Maximum number of errors, and of warnings, that are reported; further ones are counted. */
  public static final int MAX_REPORTED = 100;

  private final List<ConfigProblem> kept = new ArrayList<>();
  private final boolean all;
  private int errors;
  private int warnings;

  /**
   * Creates an empty collector.
   *
   * @param all whether to retain all problems, for {@link #every}
   */
  Problems(boolean all) {
    this.all = all;
  }

  void add(ConfigProblem problem) {
    if ((problem.isWarning() ? ++warnings : ++errors) <= MAX_REPORTED || all) {
      kept.add(problem);
    }
  }

  /** Returns whether an error prevents the use of the configuration; warnings do not count. */
  public boolean refuse() {
    return errors > 0;
  }

  /** Returns whether further errors are only counted, so that their texts need not be computed. */
  boolean isFull() {
    return errors >= MAX_REPORTED;
  }

  /**
   * Returns the retained problems in the order of the file: all problems, if the collector was
   * created to retain all.
   */
  public List<ConfigProblem> every() {
    List<ConfigProblem> every = new ArrayList<>(kept);
    every.sort(
        Comparator.comparingInt(ConfigProblem::line).thenComparingInt(ConfigProblem::column));
    return every;
  }

  /**
   * Returns the first problems in the order of the file; the last ones state the number of further
   * problems.
   */
  public List<ConfigProblem> first() {
    List<ConfigProblem> first = new ArrayList<>();
    int[] left = {MAX_REPORTED, MAX_REPORTED};
    for (ConfigProblem each : every()) {
      if (left[each.severity().ordinal()]-- > 0) {
        first.add(each);
      }
    }
    addRest(first, ConfigProblem.Severity.ERROR, errors);
    addRest(first, ConfigProblem.Severity.WARNING, warnings);
    return first;
  }

  private static void addRest(List<ConfigProblem> all, ConfigProblem.Severity severity, int found) {
    if (found > MAX_REPORTED) {
      String more = "and " + (found - MAX_REPORTED) + " more";
      all.add(new ConfigProblem(severity, all.get(0).file(), 0, 0, "", more, "none"));
    }
  }
}

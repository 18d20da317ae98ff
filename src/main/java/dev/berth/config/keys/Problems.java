package dev.berth.config.keys;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Collector of problems: the first errors and warnings, and their numbers. Confined to one thread.
 */
public final class Problems {

  /** Maximum number of errors, and of warnings, that are reported; further ones are counted. */
  public static final int MOST = 100;

  private final List<Problem> kept = new ArrayList<>();
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

  void add(Problem problem) {
    if ((problem.isWarning() ? ++warnings : ++errors) <= MOST || all) {
      kept.add(problem);
    }
  }

  /** Returns whether an error prevents the use of the configuration. */
  boolean refuse() {
    return errors > 0;
  }

  /** Returns whether further errors are only counted, so that their texts need not be computed. */
  boolean isFull() {
    return errors >= MOST;
  }

  /** Returns the retained problems in the order of the file. */
  List<Problem> every() {
    List<Problem> every = new ArrayList<>(kept);
    every.sort(Comparator.comparingInt(Problem::line).thenComparingInt(Problem::column));
    return every;
  }

  /**
   * Returns the first problems in the order of the file; the last ones state the number of further
   * problems.
   */
  List<Problem> first() {
    List<Problem> first = new ArrayList<>();
    int[] left = {MOST, MOST};
    for (Problem each : every()) {
      if (left[each.severity().ordinal()]-- > 0) {
        first.add(each);
      }
    }
    addRest(first, Problem.Severity.ERROR, errors);
    addRest(first, Problem.Severity.WARNING, warnings);
    return first;
  }

  private static void addRest(List<Problem> all, Problem.Severity severity, int found) {
    if (found > MOST) {
      String more = "and " + (found - MOST) + " more";
      all.add(new Problem(severity, all.get(0).file(), 0, 0, "", more, "none"));
    }
  }
}

package dev.berth.config.keys;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** What was found so far: the first errors and warnings, and how many there are. One thread. */
public final class Problems {

  /** Of errors that are told, and of warnings. The others are counted. */
  public static final int MOST = 100;

  private final List<Problem> kept = new ArrayList<>();
  private final boolean all;
  private int errors;
  private int warnings;

  /**
   * @param all whether all are kept, for one who asks for them
   */
  Problems(boolean all) {
    this.all = all;
  }

  void add(Problem problem) {
    if ((problem.isWarning() ? ++warnings : ++errors) <= MOST || all) {
      kept.add(problem);
    }
  }

  /** Whether something keeps the configuration from being used. */
  boolean refuse() {
    return errors > 0;
  }

  /** Whether another error would only be counted, so that its text is worth no work. */
  boolean isFull() {
    return errors >= MOST;
  }

  /** What is kept, in the order of the file. */
  List<Problem> every() {
    List<Problem> every = new ArrayList<>(kept);
    every.sort(Comparator.comparingInt(Problem::line).thenComparingInt(Problem::column));
    return every;
  }

  /** The first ones, in the order of the file; how many more there are stands last. */
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

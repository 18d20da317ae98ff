package dev.berth.simulation;

/** Which seeds a build runs. */
final class Seeds {
  /** The first one; {@code -Dsimulation.base=N}. */
  static final long BASE = Long.getLong("simulation.base", 1);

  private Seeds() {}

  /**
   * Whether they are those of every build, which together reach everything: it must not look green
   * when they do so no more. Others are as good, and may miss what is rare.
   */
  static boolean areOfEveryBuild() {
    return BASE == 1;
  }

  /**
   * How a run is seen again.
   *
   * @param property that asks for one seed
   */
  static String replay(String test, String property, long seed) {
    return "; replay: mvn -B test -Dtest=" + test + " -D" + property + "=" + seed;
  }
}

/**
 * Verdict rule: compares figures with a limit, given the noise of two equal servers.
 *
 * <p>The figures are ratios, or differences, of neighbouring slices; the figures of two equal
 * servers (A/A) come from the same rounds. The true median of equal servers is 1 for a ratio and 0
 * for a difference. The noise is the largest distance from the true median to an end of the 95 %
 * interval of the measured median. The median of the figures meets or misses the limit. The verdict
 * is "not established" only where the noise exceeds the distance from that median to the limit.
 */
final class Claim {
  /** Minimum noise of a comparison of two jars: two starts of one jar may differ by this share. */
  static final double LEAST_CHANGE = 0.02;

  /** Maximum ratio of two jars at which the new jar counts as not worse. */
  static final double NO_WORSE = 1.05;

  private Claim() {}

  /** Returns the noise of equal servers with a true median of {@code truth}. */
  static double noise(Spread equal, double truth) {
    return Math.max(Math.abs(equal.surelyFrom() - truth), Math.abs(equal.surelyTo() - truth));
  }

  /** Returns the verdict of a ratio with a maximum; the noise is relative to the maximum. */
  static Verdict.State ratio(Spread measured, Spread equal, double atMost) {
    return limit(measured.median(), atMost, atMost * noise(equal, 1));
  }

  /** Returns the verdict of a figure with a maximum; {@code equal} has differences around 0. */
  static Verdict.State difference(Spread measured, Spread equal, double atMost) {
    return limit(measured.median(), atMost, noise(equal, 0));
  }

  /** Returns the verdict of a ratio to an earlier jar; the whole interval must be on one side. */
  static Verdict.State change(Spread measured, Spread equal) {
    double noise = Math.max(LEAST_CHANGE, noise(equal, 1));
    if (measured.surelyFrom() - noise > 1) {
      return Verdict.State.WORSE;
    }
    return measured.surelyTo() + noise <= NO_WORSE
        ? Verdict.State.NOT_WORSE
        : Verdict.State.NOT_ESTABLISHED;
  }

  /** Returns the verdict of a median with a maximum; the noise has the same unit. */
  static Verdict.State limit(double median, double atMost, double noise) {
    if (noise > Math.abs(median - atMost)) {
      return Verdict.State.NOT_ESTABLISHED;
    }
    return median <= atMost ? Verdict.State.MET : Verdict.State.MISSED;
  }
}

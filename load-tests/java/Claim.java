/**
 * Whether figures hold a limit, beside the difference between equal things.
 *
 * <p>The figures are ratios, or differences, of neighbouring slices; those of equal things (A/A)
 * are of the same rounds. Equal things have a true median (one, or nothing). The noise is the
 * largest distance from it to an end of the 95 % interval of their median. A limit is met, or
 * missed, by the median of the figures. It is not established only where the noise is wider than
 * the distance of that median to the limit: then the figures are too near to the limit for this
 * machine.
 */
final class Claim {
  /** Two starts of equal servers may differ by so much although one pair of them does not. */
  static final double LEAST_CHANGE = 0.02;

  /** One that is compared with itself may be slower by so much and counts as no worse. */
  static final double NO_WORSE = 1.05;

  private Claim() {}

  /** How far equal things may be from what they are. */
  static double noise(Spread equal, double truth) {
    return Math.max(Math.abs(equal.surelyFrom() - truth), Math.abs(equal.surelyTo() - truth));
  }

  /** Of a ratio of which less is better; the distance to the limit is relative to the limit. */
  static Verdict.State ratio(Spread measured, Spread equal, double atMost) {
    return limit(measured.median(), atMost, atMost * noise(equal, 1));
  }

  /** Of a figure of which less is better; equal things differ by nothing. */
  static Verdict.State difference(Spread measured, Spread equal, double atMost) {
    return limit(measured.median(), atMost, noise(equal, 0));
  }

  /** Of the ratio of a thing to what it was before; the whole interval has to be on one side. */
  static Verdict.State change(Spread measured, Spread equal) {
    double noise = Math.max(LEAST_CHANGE, noise(equal, 1));
    if (measured.surelyFrom() - noise > 1) {
      return Verdict.State.WORSE;
    }
    return measured.surelyTo() + noise <= NO_WORSE
        ? Verdict.State.NOT_WORSE
        : Verdict.State.NOT_ESTABLISHED;
  }

  /** Of one figure of which less is better, with the noise in the same unit. */
  static Verdict.State limit(double median, double atMost, double noise) {
    if (noise > Math.abs(median - atMost)) {
      return Verdict.State.NOT_ESTABLISHED;
    }
    return median <= atMost ? Verdict.State.MET : Verdict.State.MISSED;
  }
}

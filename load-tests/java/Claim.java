/**
 * Whether figures hold a limit, beside what equal things differ by.
 *
 * <p>The figures are ratios, or differences, of neighbouring slices; those of equal things are of
 * the same rounds. What counts is where the median surely lies. Equal things have a true median
 * (one, or nothing); how far theirs may be from it is the noise, and a limit is missed, or kept,
 * only by more than that. All else is not established: the claim is narrower than the noise.
 */
final class Claim {
  /** Two starts of equal servers may differ by so much although one pair of them does not. */
  static final double LEAST_NOISE = 0.02;

  /** One that is compared with itself may be slower by so much and counts as no worse. */
  static final double NO_WORSE = 1.05;

  private Claim() {}

  /** How far equal things may be from what they are. */
  static double noise(Spread equal, double truth) {
    return Math.max(Math.abs(equal.surelyFrom() - truth), Math.abs(equal.surelyTo() - truth));
  }

  /** Of a ratio of which less is better. */
  static Verdict.State ratio(Spread measured, Spread equal, double atMost) {
    double noise = atMost * Math.max(LEAST_NOISE, noise(equal, 1));
    return state(measured, noise, atMost, atMost);
  }

  /** Of a difference of which less is better. */
  static Verdict.State difference(Spread measured, Spread equal, double atMost) {
    return state(measured, noise(equal, 0), atMost, atMost);
  }

  /** Of the ratio of a thing to what it was before. */
  static Verdict.State change(Spread measured, Spread equal) {
    double noise = Math.max(LEAST_NOISE, noise(equal, 1));
    return switch (state(measured, noise, 1, NO_WORSE)) {
      case MISSED -> Verdict.State.WORSE;
      case MET -> Verdict.State.NOT_WORSE;
      default -> Verdict.State.NOT_ESTABLISHED;
    };
  }

  private static Verdict.State state(
      Spread measured, double noise, double missedAbove, double metUpTo) {
    if (measured.surelyFrom() - noise > missedAbove) {
      return Verdict.State.MISSED;
    }
    return measured.surelyTo() + noise <= metUpTo
        ? Verdict.State.MET
        : Verdict.State.NOT_ESTABLISHED;
  }
}

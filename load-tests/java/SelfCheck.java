import java.util.Arrays;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * Checks the rule of {@link Claim} with made-up slices, the request ids of {@link RawServer} and
 * the names of compiler threads, before a run measures by them. Ends with an error when one is
 * wrong.
 */
public final class SelfCheck {
  private static final int ROUNDS = 64;

  private SelfCheck() {}

  public static void main(String[] args) {
    ids();
    threads();
    verdicts();
  }

  private static void ids() {
    RawServer.Ids ids = new RawServer.Ids("9fe0-e");
    for (String expected : new String[] {"9fe0-f", "9fe0-10", "9fe0-11"}) {
      expect("request id", ids.next().toString(), expected);
    }
  }

  /** The names are those of {@code /proc/PID/task/TID/comm}, cut to 15 characters. */
  private static void threads() {
    for (String name : new String[] {"C1 CompilerThre\n", "C2 CompilerThre\n"}) {
      expect(name, CpuTime.isCompiler(name), true);
    }
    for (String name : new String[] {"vert.x-eventloo\n", "java\n", "VM Thread\n"}) {
      expect(name, CpuTime.isCompiler(name), false);
      expect(name, CpuTime.isCollector(name), false);
    }
    for (String name : new String[] {"GC Thread#1\n", "G1 Conc#0\n", "G1 Main Marker\n"}) {
      expect(name, CpuTime.isCollector(name), true);
    }
  }

  private static void verdicts() {
    Spread quiet = slices(1.0, 0.03); // quartiles of 0.97 and 1.03
    Spread loud = slices(1.0, 0.20);
    // 64 rounds: the interval of equal things ends about half of their quartiles away from 1.
    expect("1.20x of 1.15x, quiet", Claim.ratio(slices(1.20, 0.03), quiet, 1.15), missed());
    expect("1.20x of 1.15x, loud", Claim.ratio(slices(1.20, 0.20), loud, 1.15), unknown());
    expect("1.60x of 1.15x, loud", Claim.ratio(slices(1.60, 0.20), loud, 1.15), missed());
    expect("1.05x of 1.15x, quiet", Claim.ratio(slices(1.05, 0.03), quiet, 1.15), met());
    expect("1.05x of 1.15x, loud", Claim.ratio(slices(1.05, 0.20), loud, 1.15), unknown());
    expect("1.14x of 1.15x, quiet", Claim.ratio(slices(1.14, 0.03), quiet, 1.15), unknown());
    expect("1.16x of 1.15x, quiet", Claim.ratio(slices(1.16, 0.03), quiet, 1.15), unknown());
    // The row's own spread decides nothing: only that of equal things does.
    expect("1.20x of 1.15x, loud row", Claim.ratio(slices(1.20, 0.20), quiet, 1.15), missed());
    expect("1.15x of 1.15x, no noise", Claim.ratio(slices(1.15, 0.0), slices(1, 0), 1.15), met());
    expect(
        "1.20x, unequal equals",
        Claim.ratio(slices(1.20, 0.03), slices(1.1, 0.03), 1.15),
        unknown());
    // A distance is relative to the limit: 2.2 of 2 is a tenth, and so is the noise of 0.9 to 1.1.
    expect("2.19x of 2x", Claim.ratio(slices(2.19, 0.0), slices(1.1, 0), 2), unknown());
    expect("2.21x of 2x", Claim.ratio(slices(2.21, 0.0), slices(1.1, 0), 2), missed());
    expect("8 us more of 5", Claim.difference(slices(8, 1), slices(0, 1), 5), missed());
    expect("1 us more of 5", Claim.difference(slices(1, 1), slices(0, 1), 5), met());
    expect("1 us more of 5, loud", Claim.difference(slices(1, 9), slices(0, 9), 5), unknown());
    expect("1.08x before", Claim.change(slices(1.08, 0.03), quiet), Verdict.State.WORSE);
    expect("1.00x before", Claim.change(slices(1.00, 0.03), quiet), Verdict.State.NOT_WORSE);
    expect("0.70x before", Claim.change(slices(0.70, 0.03), quiet), Verdict.State.NOT_WORSE);
    expect("1.00x before, loud", Claim.change(slices(1.00, 0.20), loud), unknown());
    expect("1.08x before, loud", Claim.change(slices(1.08, 0.20), loud), unknown());
    expect("1.08x in three rounds", Claim.change(Spread.of(1.0, 1.08, 1.2), quiet), unknown());
    // One disturbed slice in ten changes nothing; a mean would be 1.9.
    double[] disturbed = drawn(1.0, 0.03);
    Arrays.fill(disturbed, 0, ROUNDS / 10, 10.0);
    expect("1.00x, disturbed", Claim.change(Spread.of(disturbed), quiet), Verdict.State.NOT_WORSE);
  }

  private static Verdict.State missed() {
    return Verdict.State.MISSED;
  }

  private static Verdict.State met() {
    return Verdict.State.MET;
  }

  private static Verdict.State unknown() {
    return Verdict.State.NOT_ESTABLISHED;
  }

  private static void expect(String what, Object is, Object expected) {
    if (!is.equals(expected)) {
      throw new IllegalStateException(
          String.format(Locale.ROOT, "%s: %s (expected: %s)", what, is, expected));
    }
  }

  private static Spread slices(double median, double quartile) {
    return Spread.of(drawn(median, quartile));
  }

  /** Evenly spread about their median, with quartiles so far from it. */
  private static double[] drawn(double median, double quartile) {
    return IntStream.range(0, ROUNDS)
        .mapToDouble(i -> median + 2 * quartile * ((2.0 * i + 1) / ROUNDS - 1))
        .toArray();
  }
}

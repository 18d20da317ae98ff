import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.Locale;

/**
 * The median of some figures, with their quartiles.
 *
 * @param count of the figures
 * @param surelyFrom with {@code surelyTo}: between them lies the median of what the figures were
 *     drawn from, in 95 of 100 cases, by the order of the figures alone
 */
record Spread(
    int count, double median, double lower, double upper, double surelyFrom, double surelyTo) {
  static Spread of(double... values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int count = sorted.length;
    // As many of the figures lie below the median as heads fall in so many tosses.
    int outside = (int) Math.max(0, Math.floor((count - 1.96 * Math.sqrt(count)) / 2));
    return new Spread(
        count,
        at(sorted, 0.5),
        at(sorted, 0.25),
        at(sorted, 0.75),
        sorted[outside],
        sorted[count - 1 - outside]);
  }

  private static double at(double[] sorted, double share) {
    double place = share * (sorted.length - 1);
    int below = (int) place;
    int above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
  }

  /** The median and the quartiles, as in {@code 1.15 (1.13-1.22)}. */
  String text(int decimals) {
    return number(median, decimals) + " (" + range(lower, upper, decimals) + ")";
  }

  /** Where the median is for sure, as in {@code 1.14-1.16}. */
  String surely(int decimals) {
    return range(surelyFrom, surelyTo, decimals);
  }

  private static String range(double from, double to, int decimals) {
    return number(from, decimals) + (from < 0 ? " to " : "-") + number(to, decimals);
  }

  /** The median alone. */
  String middle(int decimals) {
    return number(median, decimals);
  }

  JsonObject json() {
    return new JsonObject()
        .put("median", rounded(median))
        .put("q1", rounded(lower))
        .put("q3", rounded(upper))
        .put("surely_from", rounded(surelyFrom))
        .put("surely_to", rounded(surelyTo));
  }

  static String number(double value, int decimals) {
    return String.format(Locale.ROOT, "%." + decimals + "f", value);
  }

  static double rounded(double value) {
    return Math.round(value * 1e4) / 1e4;
  }
}

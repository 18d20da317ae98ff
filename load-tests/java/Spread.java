import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.Locale;

/** The median of some figures, with the least and the most of them. */
record Spread(double median, double least, double most) {
  static Spread of(double... values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    double median =
        sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    return new Spread(median, sorted[0], sorted[sorted.length - 1]);
  }

  /** As in {@code 1.15 (1.13-1.22)}. */
  String text(int decimals) {
    return number(median, decimals)
        + " ("
        + number(least, decimals)
        + (least < 0 ? " to " : "-")
        + number(most, decimals)
        + ")";
  }

  /** The median alone. */
  String middle(int decimals) {
    return number(median, decimals);
  }

  /** The furthest that one of them is from a value. */
  double furthestFrom(double value) {
    return Math.max(Math.abs(most - value), Math.abs(value - least));
  }

  JsonObject json() {
    return new JsonObject()
        .put("median", rounded(median))
        .put("min", rounded(least))
        .put("max", rounded(most));
  }

  static String number(double value, int decimals) {
    return String.format(Locale.ROOT, "%." + decimals + "f", value);
  }

  static double rounded(double value) {
    return Math.round(value * 1e4) / 1e4;
  }
}

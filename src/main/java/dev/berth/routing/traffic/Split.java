package dev.berth.routing.traffic;

import dev.berth.routing.ranking.KeyHash;
import java.util.List;

/**
 * Sides by weight. A draw gives each its share by chance. A key goes to the same side for as long
 * as the sides and weights are the same; when they change, a key moves only away from a side whose
 * weight fell, or to one whose weight rose: of two sides no more keys than their shares do.
 * Immutable.
 *
 * <p>Source: weighted rendezvous hashing (Schindelhauer and Schomaker, 2005): the side with the
 * least −ln(u) ÷ weight, u being the hash of key and side in (0, 1).
 */
public final class Split {
  private final double[] upTo; // shares, summed
  private final double[] weights;
  private final long[] names; // hashed

  /**
   * @param names of the sides, each another
   * @param weights of the same number, finite and at least 0; one is above
   */
  Split(List<String> names, List<Double> weights) {
    double sum = weights.stream().mapToDouble(Double::doubleValue).sum();
    if (names.size() != weights.size() || !(sum > 0 && sum < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "weights: " + weights + " (expected: one for each of " + names + ", and one above 0)");
    }
    this.names = names.stream().mapToLong(KeyHash::of).toArray();
    this.weights = weights.stream().mapToDouble(Double::doubleValue).toArray();
    this.upTo = new double[this.weights.length];
    double before = 0;
    for (int side = 0; side < upTo.length; side++) {
      before += this.weights[side];
      upTo[side] = before / sum;
    }
  }

  /**
   * The side of a draw; one without weight is never it.
   *
   * @param drawn uniform in [0, 1)
   */
  int at(double drawn) {
    int last = 0;
    for (int side = 0; side < upTo.length; side++) {
      if (weights[side] > 0) {
        last = side;
        if (drawn < upTo[side]) {
          return side;
        }
      }
    }
    return last; // what rounding left above the last share
  }

  /** The side of a key's hash. */
  int of(long key) {
    int best = 0;
    double least = Double.POSITIVE_INFINITY;
    for (int side = 0; side < names.length; side++) {
      double cost = -Math.log(unit(KeyHash.mix(key ^ names[side]))) / weights[side];
      if (cost < least) { // one without weight costs infinitely much
        least = cost;
        best = side;
      }
    }
    return best;
  }

  /** In (0, 1), of the upper 53 bits. */
  private static double unit(long hash) {
    return ((hash >>> 11) + 0.5) * 0x1p-53;
  }
}

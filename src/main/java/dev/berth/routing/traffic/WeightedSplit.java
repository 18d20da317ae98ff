package dev.berth.routing.traffic;

import dev.berth.routing.ranking.KeyHash;
import java.util.List;

/**
 * Weighted sides of a route. A random draw gives each side its share. A key goes to the same side
 * while the sides and weights stay the same. After a change, a key moves only away from a side
 * whose weight fell, or to a side whose weight rose. With two sides, the fraction of moved keys
 * equals the change of the shares. Immutable.
 *
 * <p>Source: weighted rendezvous hashing (Schindelhauer and Schomaker, 2005): the side with the
 * least −ln(u) ÷ weight, u being the hash of key and side in (0, 1).
 */
public final class WeightedSplit {
  private final double[] upTo; // cumulative shares
  private final double[] weights;
  private final long[] names; // hashed names

  /**
   * @param names distinct names of the sides
   * @param weights one per name, finite and at least 0; at least one is above 0
   */
  WeightedSplit(List<String> names, List<Double> weights) {
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
   * Returns the side of a random draw, never one without weight.
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
    return last; // a draw above the last share, left by rounding
  }

  /** Returns the side of a key's hash. */
  int of(long key) {
    int best = 0;
    double least = Double.POSITIVE_INFINITY;
    for (int side = 0; side < names.length; side++) {
      double cost = -Math.log(unit(KeyHash.mix(key ^ names[side]))) / weights[side];
      if (cost < least) { // a side without weight has infinite cost
        least = cost;
        best = side;
      }
    }
    return best;
  }

  /** Maps the upper 53 bits of a hash to (0, 1). */
  private static double unit(long hash) {
    return ((hash >>> 11) + 0.5) * 0x1p-53;
  }
}

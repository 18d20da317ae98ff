package dev.berth.config.keys;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Finder of the key that the author of an unknown key probably meant. */
final class KeySuggestion {

  private KeySuggestion() {}

  /** Returns the nearest of {@code names}; null when none is near. */
  static @Nullable String forName(String name, List<String> names) {
    String bare = bare(name);
    String nearest = null;
    int best = 1 + Math.max(1, bare.length() / 4); // tolerates a quarter of the letters
    for (String candidate : names) {
      int distance = distance(bare, bare(candidate));
      if (distance < best) {
        best = distance;
        nearest = candidate;
      }
    }
    return nearest;
  }

  /** Returns letters and digits only, so that numReplicas and num-replicas equal num_replicas. */
  private static String bare(String name) {
    return name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]", "");
  }

  /**
   * Returns the number of letters to insert, drop, change or swap with their neighbour (optimal
   * string alignment).
   */
  private static int distance(String left, String right) {
    int[][] cost = new int[left.length() + 1][right.length() + 1];
    for (int i = 0; i <= left.length(); i++) {
      for (int j = 0; j <= right.length(); j++) {
        if (i == 0 || j == 0) {
          cost[i][j] = i + j;
          continue;
        }
        int change = left.charAt(i - 1) == right.charAt(j - 1) ? 0 : 1;
        cost[i][j] =
            Math.min(cost[i - 1][j - 1] + change, 1 + Math.min(cost[i - 1][j], cost[i][j - 1]));
        boolean swapped =
            i > 1
                && j > 1
                && left.charAt(i - 1) == right.charAt(j - 2)
                && left.charAt(i - 2) == right.charAt(j - 1);
        if (swapped) {
          cost[i][j] = Math.min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
      }
    }
    return cost[left.length()][right.length()];
  }
}

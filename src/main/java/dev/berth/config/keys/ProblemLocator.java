package dev.berth.config.keys;

import java.util.Map;

/**
 * The position of a part of a configuration, for problems found after reading, such as a missing
 * class or an unknown deployment. Compared by identity.
 */
public final class ProblemLocator {

  private final String file;
  private final String path;
  private final Map<String, ParseContext.FilePosition> spots;

  /**
   * Creates a position.
   *
   * @param path base of relative keys
   * @param spots positions by full path; not modified afterwards
   */
  ProblemLocator(String file, String path, Map<String, ParseContext.FilePosition> spots) {
    this.file = file;
    this.path = path;
    this.spots = spots;
  }

  /** Returns a source without positions, for a text that is not stored in a file. */
  public ProblemLocator placeless() {
    return new ProblemLocator("", path, Map.of());
  }

  /**
   * Creates a problem with the value of a key, at its position or at that of the nearest enclosing
   * mapping.
   *
   * @param key relative to this source, as in {@code import_path} or {@code deployments[1].name}
   */
  public ConfigProblem problem(String key, String value, String expected) {
    String whole = path.isEmpty() ? key : path + "." + key;
    ParseContext.FilePosition spot = nearest(whole);
    return new ConfigProblem(spot.file(), spot.line(), spot.column(), whole, value, expected);
  }

  private ParseContext.FilePosition nearest(String whole) {
    String place = whole;
    while (!place.isEmpty()) {
      ParseContext.FilePosition spot = spots.get(place);
      if (spot != null) {
        return spot;
      }
      place =
          place.substring(0, Math.max(0, Math.max(place.lastIndexOf('.'), place.lastIndexOf('['))));
    }
    return new ParseContext.FilePosition(file, 0, 0);
  }
}

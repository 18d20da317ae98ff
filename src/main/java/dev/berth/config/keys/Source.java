package dev.berth.config.keys;

import java.util.Map;

/**
 * Where something of a configuration stands, for problems that only the code it names can tell: a
 * missing class, an unknown deployment. Equal to itself only.
 */
public final class Source {

  private final String file;
  private final String path;
  private final Map<String, Place.Spot> spots;

  /**
   * @param path that keys are relative to
   * @param spots by whole path; not changed any more
   */
  Source(String file, String path, Map<String, Place.Spot> spots) {
    this.file = file;
    this.path = path;
    this.spots = spots;
  }

  /** The same without a place, where the text is nobody's file. */
  public Source placeless() {
    return new Source("", path, Map.of());
  }

  /**
   * A problem with the value of a key, at its place or at that of the nearest mapping around it.
   *
   * @param key as in {@code import_path} or {@code deployments[1].name}, from where this source
   *     stands
   */
  public Problem problem(String key, String value, String expected) {
    String whole = path.isEmpty() ? key : path + "." + key;
    Place.Spot spot = nearest(whole);
    return new Problem(spot.file(), spot.line(), spot.column(), whole, value, expected);
  }

  private Place.Spot nearest(String whole) {
    String place = whole;
    while (!place.isEmpty()) {
      Place.Spot spot = spots.get(place);
      if (spot != null) {
        return spot;
      }
      place =
          place.substring(0, Math.max(0, Math.max(place.lastIndexOf('.'), place.lastIndexOf('['))));
    }
    return new Place.Spot(file, 0, 0);
  }
}

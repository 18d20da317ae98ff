package dev.berth.config;

import dev.berth.config.keys.Place;
import dev.berth.config.keys.Types;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * A file as it is sent to an instance that runs: what is set over it is in it, and paths of jars
 * are absolute, since the instance does not know the file's folder. What holds for an instance from
 * its start, {@code http_options}, {@code logging_config} and {@code berth}, is left out, and with
 * it every secret.
 *
 * @param config what the file means, checked
 * @param document under the file's own names, JSON values only, in its order
 * @param applications the entries of {@code applications}, by name, in its order
 * @param leftOut keys that the file has and that are not sent
 * @param positions of keys in the file
 */
public record Submission(
    ServeConfig config,
    Map<String, @Nullable Object> document,
    Map<String, Map<String, @Nullable Object>> applications,
    List<String> leftOut,
    Positions positions) {
  private static final List<String> OF_THE_INSTANCE =
      List.of(
          ServeConfig.HTTP_OPTIONS.name(),
          ServeConfig.LOGGING_CONFIG.name(),
          ServeConfig.BERTH.name());

  /**
   * @param root the file with what is set over it, already found to be right
   * @param place its top, which knows where relative paths start
   */
  static Submission of(ServeConfig config, Node root, Place place) {
    Map<String, @Nullable Object> whole = Types.FREE_MAP.read(root, place);
    if (whole == null) {
      throw new ConfigException(place.problems());
    }
    Map<String, @Nullable Object> document = new LinkedHashMap<>(whole);
    List<String> leftOut = OF_THE_INSTANCE.stream().filter(whole::containsKey).toList();
    document.keySet().removeAll(leftOut);
    Map<String, Map<String, @Nullable Object>> applications = new LinkedHashMap<>();
    config.applications().forEach(each -> applications.put(each.name(), each.portable()));
    document.put(ServeConfig.APPLICATIONS.name(), new ArrayList<>(applications.values()));
    return new Submission(config, document, applications, leftOut, new Positions(root, place));
  }

  /**
   * What an instance says of what it was sent, with places of the file.
   *
   * @param only the application that was sent; null for all
   */
  public String located(String message, @Nullable String only) {
    int index = only == null ? -1 : List.copyOf(applications.keySet()).indexOf(only);
    return positions.located(
        message, index < 0 ? "" : ServeConfig.APPLICATIONS.name() + "[" + index + "].");
  }
}

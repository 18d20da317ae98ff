package dev.berth.config;

import dev.berth.config.keys.Key;
import dev.berth.config.keys.Place;
import dev.berth.config.keys.Scalars;
import dev.berth.config.keys.Types;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

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
  private static final Key<?> JARS = ApplicationConfig.JARS;
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
    List<String> leftOut = new ArrayList<>(OF_THE_INSTANCE);
    leftOut.removeIf(key -> !document.containsKey(key));
    document.keySet().removeAll(OF_THE_INSTANCE);
    List<Node> nodes = items(Scalars.child(root, ServeConfig.APPLICATIONS.name()));
    List<?> values = (List<?>) whole.get(ServeConfig.APPLICATIONS.name());
    Map<String, Map<String, @Nullable Object>> applications = new LinkedHashMap<>();
    for (int i = 0; i < nodes.size(); i++) {
      Map<String, @Nullable Object> entry = copy(values == null ? null : values.get(i));
      makeAbsolute(entry, nodes.get(i), place);
      applications.put(config.applications().get(i).name(), entry);
    }
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

  private static void makeAbsolute(
      Map<String, @Nullable Object> entry, Node application, Place place) {
    String environmentKey = ApplicationConfig.RUNTIME_ENV.name();
    List<Node> jars = items(Scalars.child(Scalars.child(application, environmentKey), JARS.name()));
    if (jars.isEmpty()) {
      return;
    }
    List<@Nullable Object> paths = new ArrayList<>();
    for (Node jar : jars) {
      String text = Scalars.string(jar);
      paths.add(text == null ? null : place.resolve(jar, text).toString());
    }
    Map<String, @Nullable Object> environment = copy(entry.get(environmentKey));
    environment.put(JARS.name(), paths);
    entry.put(environmentKey, environment);
  }

  private static List<Node> items(@Nullable Node node) {
    return node instanceof SequenceNode sequence ? sequence.getValue() : List.of();
  }

  private static Map<String, @Nullable Object> copy(@Nullable Object mapping) {
    Map<String, @Nullable Object> copy = new LinkedHashMap<>();
    if (mapping instanceof Map<?, ?> entries) {
      entries.forEach((key, value) -> copy.put((String) key, value));
    }
    return copy;
  }
}

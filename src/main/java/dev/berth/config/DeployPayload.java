package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.ParseContext;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * A file prepared for submission to a running instance. All settings are applied, and paths of jars
 * are absolute, because the instance does not know the file's folder. Settings that are fixed at
 * the start of an instance, {@code http_options}, {@code logging_config} and {@code berth}, are
 * omitted, and thereby all secrets.
 *
 * @param config the checked configuration
 * @param document the file under its own names, JSON values only, in its order
 * @param applications the entries of {@code applications}, by name, in the order of the file
 * @param leftOut keys of the file that are not sent
 * @param positions of keys in the file
 */
public record DeployPayload(
    ServeConfig config,
    Map<String, @Nullable Object> document,
    Map<String, Map<String, @Nullable Object>> applications,
    List<String> leftOut,
    Positions positions) {
  private static final List<ConfigKey<Settings>> OF_THE_INSTANCE =
      List.of(ServeConfig.HTTP_OPTIONS, ServeConfig.LOGGING_CONFIG, ServeConfig.BERTH);

  /**
   * Creates a submission.
   *
   * @param root the tree of the file with all settings applied, already checked
   * @param place the top of the file, which holds the base of relative paths
   */
  static DeployPayload of(ServeConfig config, Node root, ParseContext place) {
    Map<String, @Nullable Object> whole = Types.FREE_MAP.read(root, place);
    if (whole == null) {
      throw new ConfigException(place.problems().first());
    }
    Map<String, @Nullable Object> document = new LinkedHashMap<>(whole);
    List<String> leftOut =
        OF_THE_INSTANCE.stream().map(ConfigKey::name).filter(whole::containsKey).toList();
    document.keySet().removeAll(leftOut);
    Map<String, Map<String, @Nullable Object>> applications = new LinkedHashMap<>();
    config.applications().forEach(each -> applications.put(each.name(), each.portable()));
    document.put(ServeConfig.APPLICATIONS.name(), new ArrayList<>(applications.values()));
    return new DeployPayload(config, document, applications, leftOut, new Positions(root, place));
  }

  /** Returns the keys that are not sent, and that an instance started with other values of. */
  public List<String> changedSince(ServeConfig start) {
    return OF_THE_INSTANCE.stream()
        .filter(key -> !config.get(key).equals(start.get(key)))
        .map(ConfigKey::name)
        .toList();
  }

  /**
   * Returns an instance's message about the submission with positions of the file.
   *
   * @param only the application that was sent; null for all
   */
  public String located(String message, @Nullable String only) {
    int index = only == null ? -1 : List.copyOf(applications.keySet()).indexOf(only);
    return positions.located(
        message, index < 0 ? "" : ServeConfig.APPLICATIONS.name() + "[" + index + "].");
  }
}

package dev.berth.config;

import dev.berth.config.keys.Key;
import dev.berth.config.keys.Place;
import dev.berth.config.keys.Reach;
import dev.berth.config.keys.Scalars;
import dev.berth.config.keys.Secret;
import dev.berth.config.keys.Settings;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.common.ScalarStyle;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * Reads what is submitted to a running instance: its applications and its target capacity. The rest
 * holds since the start and is warned of when it differs, as Ray Serve does. Relative paths start
 * from a folder of the caller's. May block on the disk.
 */
public final class SubmittedConfig {
  /** What is submitted, in the place of a file's name. */
  public static final String SENT = "config";

  private static final String RESTART = "the same, or a restart with another file";

  private SubmittedConfig() {}

  /**
   * Reads a whole configuration.
   *
   * @param name of the text, for its problems
   * @param running what the instance was started with
   * @return that with the applications and the capacity of {@code text}, and warnings of it alone
   * @throws ConfigException with every problem
   */
  public static ServeConfig read(String name, Path folder, String text, ServeConfig running) {
    requireSize(name, text);
    Place top = Place.top(name, folder, ServeConfig.SECTION::pathOf);
    Node root = ConfigReader.compose(name, text).orElseThrow(() -> empty(name));
    Settings values = ServeConfig.SECTION.read(root, top);
    if (values != null && !values.gives(ServeConfig.APPLICATIONS)) {
      values.problem(ServeConfig.APPLICATIONS, "missing", "a list of mappings");
    }
    if (values == null || top.isWrong()) {
      throw new ConfigException(top.problems());
    }
    warnOfDifferences(values, running.settings());
    requireBounds(values.get(ServeConfig.APPLICATIONS), running, top);
    List<ApplicationConfig> applications =
        values.get(ServeConfig.APPLICATIONS).stream()
            .map(application -> ApplicationConfig.from(application, running.settings()))
            .toList();
    return running.withApplications(
        applications, values.find(ServeConfig.TARGET_CAPACITY), top.problems());
  }

  /**
   * Reads one entry of {@code applications}.
   *
   * @param application its name; the entry may leave it out, and may not say another
   * @return {@code running} with that application alone, and warnings of it alone
   * @throws ConfigException with every problem
   */
  public static ServeConfig readOne(
      String name, Path folder, String text, String application, ServeConfig running) {
    requireSize(name, text);
    Place top = Place.top(name, folder, ServeConfig.SECTION::pathOf);
    Node root =
        ConfigReader.compose(name, text)
            .map(node -> named(node, application))
            .orElseThrow(() -> empty(name));
    Settings values = ApplicationConfig.SECTION.read(root, top);
    String given = values == null ? null : values.find(ApplicationConfig.NAME);
    if (values != null && given != null && !given.equals(application)) {
      values.problem(
          ApplicationConfig.NAME, '"' + Scalars.shorten(given) + '"', application + ", or nothing");
    }
    if (values == null || top.isWrong()) {
      throw new ConfigException(top.problems());
    }
    requireBounds(List.of(values), running, top);
    List<ApplicationConfig> one = List.of(ApplicationConfig.from(values, running.settings()));
    return running.withApplications(one, running.find(ServeConfig.TARGET_CAPACITY), top.problems());
  }

  private static void requireSize(String name, String text) {
    int bytes = text.getBytes(StandardCharsets.UTF_8).length;
    if (bytes > ConfigReader.MOST_BYTES) {
      throw ConfigReader.unreadable(
          name, bytes + " bytes", "at most " + ConfigReader.MOST_BYTES + " bytes");
    }
  }

  private static ConfigException empty(String name) {
    return ConfigReader.unreadable(name, "empty", "a YAML or JSON document");
  }

  /** An entry with its name in it; anything else is told to be wrong by the one who reads it. */
  private static Node named(Node node, String application) {
    if (!(node instanceof MappingNode mapping) || Scalars.child(node, "name") != null) {
      return node;
    }
    Optional<Mark> mark = node.getStartMark();
    List<NodeTuple> entries = new ArrayList<>();
    entries.add(new NodeTuple(text("name", mark), text(application, mark)));
    entries.addAll(mapping.getValue());
    return new MappingNode(mapping.getTag(), true, entries, FlowStyle.AUTO, mark, Optional.empty());
  }

  private static ScalarNode text(String text, Optional<Mark> mark) {
    return new ScalarNode(Tag.STR, true, text, ScalarStyle.PLAIN, mark, Optional.empty());
  }

  // --- what holds since the start ---

  private static void warnOfDifferences(Settings values, Settings running) {
    Settings http = values.get(ServeConfig.HTTP_OPTIONS);
    HttpOptions.SECTION.keys().forEach(key -> warnIfOther(key, http, running));
    warnIfOther(ServeConfig.LOGGING_CONFIG, values, running);
    warnIfOther(ServeConfig.BERTH, values, running);
  }

  /** Nothing is told of a secret, not even that it is another. */
  private static void warnIfOther(Key<?> key, Settings given, Settings running) {
    if (given.gives(key)
        && key.reach() != Reach.NOTHING
        && !(key.type() instanceof Secret)
        && !Objects.equals(given.find(key), running.find(key))) {
      given.marks().warn(key, "has no effect: it holds since the start of the instance", RESTART);
    }
  }

  private static void requireBounds(List<Settings> applications, ServeConfig running, Place top) {
    applications.forEach(each -> each.within(running.settings()).checkBounds());
    if (top.isWrong()) {
      throw new ConfigException(top.problems());
    }
  }
}

package dev.berth.config;

import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.ParseContext;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.YamlScalars;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * Reader of configurations submitted to a running instance: the applications and the target
 * capacity. All other settings are fixed since the start; a difference is reported as a warning, as
 * in Ray Serve. Relative paths start from a folder that the caller passes. May block on disk
 * access.
 */
public final class SubmittedConfig {
  /** Name of a submitted text, in place of a file's name. */
  public static final String SENT = "config";

  private static final String RESTART = "the same, or a restart with another file";

  private SubmittedConfig() {}

  /**
   * Reads a submitted text: a whole configuration or an entry of {@code applications}.
   *
   * @param name of the text, for its problems
   * @param application name of the entry, which may omit the name, but must not contain another;
   *     null for a whole configuration
   * @param running the configuration at the start of the instance
   * @param jars returns the path of an uploaded jar by its SHA-256; null when unknown
   * @return {@code running} with the applications and the capacity of {@code text}, or with only
   *     the application of the entry, and only the warnings of {@code text}
   * @throws ConfigException with all problems
   */
  public static ServeConfig read(
      String name,
      Path folder,
      String text,
      @Nullable String application,
      ServeConfig running,
      Function<String, @Nullable Path> jars) {
    ParseContext top = ParseContext.top(name, folder, ServeConfig.SECTION::pathOf, false, jars);
    Node root = compose(name, text);
    return application == null
        ? readWhole(top, root, running)
        : readEntry(top, root, name, application, running);
  }

  private static ServeConfig readWhole(ParseContext top, Node root, ServeConfig running) {
    Settings values = ServeConfig.SECTION.read(root, top);
    if (values != null && !values.gives(ServeConfig.APPLICATIONS)) {
      values.problem(ServeConfig.APPLICATIONS, "missing", "a list of mappings");
    }
    Settings right = requireRight(values, top);
    warnOfDifferences(right, running.settings());
    return running(
        right.get(ServeConfig.APPLICATIONS), right.find(ServeConfig.TARGET_CAPACITY), running, top);
  }

  private static ServeConfig readEntry(
      ParseContext top, Node root, String name, String application, ServeConfig running) {
    String key = ApplicationConfig.NAME.name();
    boolean unnamed = root instanceof MappingNode && YamlScalars.child(root, key) == null;
    Node named = // the section reports other node types
        unnamed
            ? new Overlay(top).apply(root, List.of(Setting.text(name, key, application)))
            : root;
    Settings values = ApplicationConfig.SECTION.read(named, top);
    String given = values == null ? null : values.find(ApplicationConfig.NAME);
    if (values != null && given != null && !given.equals(application)) {
      values.problem(
          ApplicationConfig.NAME,
          '"' + YamlScalars.shorten(given) + '"',
          application + ", or nothing");
    }
    return running(
        List.of(requireRight(values, top)),
        running.find(ServeConfig.TARGET_CAPACITY),
        running,
        top);
  }

  private static Node compose(String name, String text) {
    int bytes = text.getBytes(StandardCharsets.UTF_8).length;
    if (bytes > BoundedParser.MAX_BYTES) {
      throw BoundedParser.unreadable(
          name, bytes + " bytes", "at most " + BoundedParser.MAX_BYTES + " bytes");
    }
    return BoundedParser.compose(name, text)
        .orElseThrow(() -> BoundedParser.unreadable(name, "empty", "a YAML or JSON document"));
  }

  private static Settings requireRight(@Nullable Settings values, ParseContext top) {
    if (values == null || top.problems().refuse()) {
      throw new ConfigException(top.problems().first());
    }
    return values;
  }

  /**
   * Returns the running configuration with these applications and this capacity, checked against
   * the instance's limits.
   */
  private static ServeConfig running(
      List<Settings> applications,
      @Nullable Double capacity,
      ServeConfig running,
      ParseContext top) {
    Settings file = running.settings();
    applications.forEach(each -> each.within(file).checkBounds());
    ServeConfig.checkUpstreams(applications);
    requireRight(file, top);
    return new ServeConfig(
        file.with(ServeConfig.TARGET_CAPACITY, capacity),
        applications.stream().map(each -> ApplicationConfig.from(each, file)).toList(),
        running.folder(),
        top.problems().first(),
        running.origin(),
        running.source());
  }

  // --- settings fixed at start ---

  private static void warnOfDifferences(Settings values, Settings running) {
    Settings http = values.get(ServeConfig.HTTP_OPTIONS);
    HttpOptions.SECTION.keys().forEach(key -> warnIfOther(key, http, running));
    warnIfOther(ServeConfig.LOGGING_CONFIG, values, running);
    warnIfOther(ServeConfig.BERTH, values, running);
  }

  private static void warnIfOther(ConfigKey<?> key, Settings given, Settings running) {
    if (given.gives(key)
        && key.reach() != ChangeReach.NOTHING
        && !Objects.equals(given.find(key), running.find(key))) {
      given.marks().warn(key, "has no effect: set at the start of the instance", RESTART);
    }
  }
}

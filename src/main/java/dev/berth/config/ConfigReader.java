package dev.berth.config;

import static java.util.stream.Collectors.joining;

import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.ParseContext;
import dev.berth.config.keys.Settings;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * Reader of whole configurations. Returns the configuration, or throws a {@link ConfigException}
 * with all problems. {@link ServeConfig#warnings} holds the warnings.
 */
public final class ConfigReader {

  private ConfigReader() {}

  /**
   * Reads a file in UTF-8. Relative paths in the file start from its folder, those of settings from
   * the current folder. Blocks on disk access.
   *
   * @param settings override the file; later ones override earlier ones
   */
  public static ServeConfig read(Path file, List<Setting> settings) {
    return readFile(file, settings, false).config();
  }

  /**
   * Reads a file as {@link #read(SettingPath, List)} does, for the start of an instance. Entries of
   * {@code applications} with a problem are omitted and returned in {@link ConfigOrigin#refused}.
   */
  public static ServeConfig readToStart(Path file, List<Setting> settings) {
    return readFile(file, settings, true).config();
  }

  /**
   * Reads a file as {@link #read(SettingPath, List)} does, for submission to a running instance.
   */
  public static DeployPayload submission(Path file, List<Setting> settings) {
    ParsedConfig read = readFile(file, settings, false);
    if (!read.config().origin().namesApplications()) {
      Node root = read.root();
      read.top()
          .key(ServeConfig.APPLICATIONS.name())
          .problem(root, "missing", "a list of mappings");
      throw new ConfigException(read.top().problems().first());
    }
    return DeployPayload.of(read.config(), read.root(), read.top());
  }

  /** A configuration, with the tree and the position it was read from. */
  private record ParsedConfig(ServeConfig config, Node root, ParseContext top) {}

  private static ParsedConfig readFile(Path file, List<Setting> settings, boolean lenient) {
    String name = file.toString();
    try {
      if (Files.size(file) > BoundedParser.MAX_BYTES) {
        throw BoundedParser.unreadable(
            name, Files.size(file) + " bytes", "at most " + BoundedParser.MAX_BYTES + " bytes");
      }
      Path folder = file.toAbsolutePath().normalize().getParent();
      return readText(
          name,
          folder == null ? file.toAbsolutePath() : folder,
          Files.readString(file),
          settings,
          ConfigOrigin.uri(file, settings),
          lenient);
    } catch (NoSuchFileException missing) {
      throw BoundedParser.unreadable(name, "no such file", "a YAML or JSON file");
    } catch (CharacterCodingException notText) {
      throw BoundedParser.unreadable(name, "not UTF-8", "a YAML or JSON file in UTF-8");
    } catch (IOException failed) {
      throw BoundedParser.unreadable(
          name, "cannot be read: " + failed.getMessage(), "a YAML or JSON file");
    }
  }

  /** Reads a text without settings. */
  public static ServeConfig read(String name, Path folder, String text) {
    return read(name, folder, text, List.of());
  }

  /**
   * Reads a text.
   *
   * @param name of the text, for its problems
   * @param folder base of relative paths in the text
   * @param settings override the text
   */
  public static ServeConfig read(String name, Path folder, String text, List<Setting> settings) {
    return readText(name, folder, text, settings, null, false).config();
  }

  /**
   * Reads a text.
   *
   * @param uri of the file, as in {@link ConfigOrigin}
   * @param lenient whether entries of applications with problems are omitted instead of refused
   */
  private static ParsedConfig readText(
      String name,
      Path folder,
      String text,
      List<Setting> settings,
      @Nullable String uri,
      boolean lenient) {
    ParseContext top =
        ParseContext.top(name, folder, ServeConfig.SECTION::pathOf, lenient, jar -> null);
    Optional<Node> root = BoundedParser.compose(name, text);
    if (root.isEmpty()) {
      throw BoundedParser.unreadable(name, "empty", "a mapping with the key applications");
    }
    Node whole = new Overlay(top).apply(root.get(), settings);
    Settings values = ServeConfig.SECTION.read(whole, top);
    UnaryOperator<ConfigProblem> place = each -> each;
    if (top.problems().refuse() && !settings.isEmpty()) {
      ParseContext alone =
          ParseContext.top(name, folder, ServeConfig.SECTION::pathOf, true, jar -> null);
      place = blame(root.get(), alone, settings);
    }
    List<ConfigProblem> problems = lenient ? top.problems().every() : top.problems().first();
    problems.replaceAll(place);
    boolean refused =
        lenient
            ? problems.stream()
                .anyMatch(each -> !each.isWarning() && ServeConfig.entry(each).isEmpty())
            : top.problems().refuse();
    if (values == null || refused) {
      throw new ConfigException(top.problems().first().stream().map(place).toList());
    }
    return new ParsedConfig(ServeConfig.from(values, problems, uri), whole, top);
  }

  /**
   * Returns a function that names the command-line options, instead of a line, in problems that the
   * file alone does not have.
   */
  private static UnaryOperator<ConfigProblem> blame(
      Node file, ParseContext alone, List<Setting> settings) {
    ServeConfig.SECTION.read(file, alone);
    Set<ConfigProblem> own = Set.copyOf(alone.problems().every());
    String options = settings.stream().map(Setting::option).distinct().collect(joining(", "));
    return each ->
        each.line() == 0 || own.contains(each)
            ? each
            : new ConfigProblem(
                each.severity(), options, 0, 0, each.path(), each.value(), each.expected());
  }
}

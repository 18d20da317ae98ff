package dev.berth.config;

import static java.util.stream.Collectors.joining;

import dev.berth.config.keys.Place;
import dev.berth.config.keys.Problem;
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
 * Reads a configuration: all of it, or a {@link ConfigException} with every problem it has. What is
 * only warned of stands in {@link ServeConfig#warnings}.
 */
public final class ConfigReader {

  private ConfigReader() {}

  /**
   * Reads a file in UTF-8. Relative paths in it start from its folder, those of settings from the
   * current one. Blocks on the disk.
   *
   * @param settings that win over the file, later ones over earlier ones
   */
  public static ServeConfig read(Path file, List<Setting> settings) {
    return readFile(file, settings, false).config();
  }

  /**
   * As {@link #read(Path, List)}, for an instance that starts: entries of {@code applications} with
   * a problem are left out, and stand in {@link Origin#refused}.
   */
  public static ServeConfig readToStart(Path file, List<Setting> settings) {
    return readFile(file, settings, true).config();
  }

  /** As {@link #read(Path, List)}, for an instance that runs. */
  public static Submission submission(Path file, List<Setting> settings) {
    Read read = readFile(file, settings, false);
    if (!read.config().origin().namesApplications()) {
      Node root = read.root();
      read.top()
          .key(ServeConfig.APPLICATIONS.name())
          .problem(root, "missing", "a list of mappings");
      throw new ConfigException(read.top().problems());
    }
    return Submission.of(read.config(), read.root(), read.top());
  }

  /** What was read, and from what. */
  private record Read(ServeConfig config, Node root, Place top) {}

  private static Read readFile(Path file, List<Setting> settings, boolean lenient) {
    String name = file.toString();
    try {
      if (Files.size(file) > BoundedParser.MOST_BYTES) {
        throw BoundedParser.unreadable(
            name, Files.size(file) + " bytes", "at most " + BoundedParser.MOST_BYTES + " bytes");
      }
      Path folder = file.toAbsolutePath().normalize().getParent();
      return readText(
          name,
          folder == null ? file.toAbsolutePath() : folder,
          Files.readString(file),
          settings,
          Origin.uri(file, settings),
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
   * @param folder that relative paths in it start from
   * @param settings that win over it
   */
  public static ServeConfig read(String name, Path folder, String text, List<Setting> settings) {
    return readText(name, folder, text, settings, null, false).config();
  }

  /**
   * @param uri of it, as {@link Origin} has it
   * @param lenient whether entries of applications may have problems
   */
  private static Read readText(
      String name,
      Path folder,
      String text,
      List<Setting> settings,
      @Nullable String uri,
      boolean lenient) {
    Place top = Place.top(name, folder, ServeConfig.SECTION::pathOf, lenient, jar -> null);
    Optional<Node> root = BoundedParser.compose(name, text);
    if (root.isEmpty()) {
      throw BoundedParser.unreadable(name, "empty", "a mapping with the key applications");
    }
    Node whole = new Overlay(top).apply(root.get(), settings);
    Settings values = ServeConfig.SECTION.read(whole, top);
    UnaryOperator<Problem> place = each -> each;
    if (top.isWrong() && !settings.isEmpty()) {
      Place alone = Place.top(name, folder, ServeConfig.SECTION::pathOf, true, jar -> null);
      place = blame(root.get(), alone, settings);
    }
    List<Problem> problems = lenient ? top.everyProblem() : top.problems();
    problems.replaceAll(place);
    boolean refused =
        lenient
            ? problems.stream()
                .anyMatch(each -> !each.isWarning() && ServeConfig.entry(each).isEmpty())
            : top.isWrong();
    if (values == null || refused) {
      throw new ConfigException(top.problems().stream().map(place).toList());
    }
    return new Read(ServeConfig.from(values, problems, uri), whole, top);
  }

  /** Names the options in place of a line for problems that the file alone does not have. */
  private static UnaryOperator<Problem> blame(Node file, Place alone, List<Setting> settings) {
    ServeConfig.SECTION.read(file, alone);
    Set<Problem> own = Set.copyOf(alone.everyProblem());
    String options = settings.stream().map(Setting::option).distinct().collect(joining(", "));
    return each ->
        each.line() == 0 || own.contains(each)
            ? each
            : new Problem(
                each.severity(), options, 0, 0, each.path(), each.value(), each.expected());
  }
}

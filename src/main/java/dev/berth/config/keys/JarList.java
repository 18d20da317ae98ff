package dev.berth.config.keys;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * {@code jars}: paths, relative to the file's folder, of existing jars or directories of jars; or
 * {@code sha256:} and the digits of a jar that was uploaded to the instance.
 */
final class JarList implements Type<List<Path>> {

  private static final Pattern BY_CONTENT = Pattern.compile(Types.JAR_BY_CONTENT + "[0-9a-f]{64}");
  private static final String EXPECTED_ITEM = "an existing .jar file, or a directory of them";

  @Override
  public String expected() {
    return "a list of paths of existing .jar files, or of directories of them";
  }

  @Override
  public Map<String, Object> schema() {
    return Schema.of("array").with("items", Schema.text("\\S"));
  }

  @Override
  public @Nullable List<Path> read(Node node, ParseContext place) {
    if (!(node instanceof SequenceNode sequence)) {
      place.problem(node, YamlScalars.describe(node), expected());
      return null;
    }
    List<Path> jars = new ArrayList<>();
    int index = 0;
    for (Node item : sequence.getValue()) {
      jars.addAll(readItem(item, place.item(index++)));
    }
    return List.copyOf(jars);
  }

  /** Returns the jars of one item; none after reporting a problem. */
  private static List<Path> readItem(Node node, ParseContext place) {
    String text = YamlScalars.string(node);
    if (text == null || text.isBlank()) {
      place.problem(node, YamlScalars.describe(node), EXPECTED_ITEM);
      return List.of();
    }
    if (BY_CONTENT.matcher(text).matches()) {
      return byContent(text.substring(Types.JAR_BY_CONTENT.length()), node, place);
    }
    Path path;
    try {
      path = place.resolve(node, text);
    } catch (InvalidPathException notAPath) {
      place.problem(node, YamlScalars.show(node), EXPECTED_ITEM);
      return List.of();
    }
    List<Path> jars = place.tryInspect() ? jarsAt(path, place) : List.of();
    if (place.isInspectionLimitReached()) {
      place.problem(
          node, "more files than allowed", "at most " + ParseContext.MAX_FILES + " files");
    } else if (jars.isEmpty()) {
      String what =
          Files.isDirectory(path)
              ? ", a directory without readable jars"
              : Files.exists(path) ? ", not a readable .jar file" : ", which does not exist";
      place.problem(node, YamlScalars.show(node) + what, EXPECTED_ITEM);
    }
    return jars;
  }

  /** Returns a jar that was uploaded before the configuration that names it. */
  private static List<Path> byContent(String sha256, Node node, ParseContext place) {
    Path jar = place.jar(sha256);
    if (jar == null) {
      place.problem(
          node, YamlScalars.show(node) + ", which was not sent", "digest of a stored jar");
      return List.of();
    }
    return List.of(jar);
  }

  private static List<Path> jarsAt(Path path, ParseContext place) {
    if (!Files.isDirectory(path)) {
      return isJar(path) ? List.of(path) : List.of();
    }
    try (Stream<Path> files = Files.list(path)) {
      return files.takeWhile(file -> place.tryInspect()).filter(JarList::isJar).sorted().toList();
    } catch (IOException unreadable) {
      return List.of();
    }
  }

  private static boolean isJar(Path path) {
    return path.toString().endsWith(".jar") && Files.isRegularFile(path) && Files.isReadable(path);
  }
}

package dev.berth.config;

import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/** The path of a file, from the folder of the configuration, that exists and can be read. */
final class ReadableFile implements Type<Path> {

  @Override
  public String expected() {
    return "the path of a readable file";
  }

  @Override
  public Map<String, Object> schema() {
    return Schema.text("\\S");
  }

  @Override
  public boolean allows(Path value) {
    return true;
  }

  @Override
  public @Nullable Path read(Node node, Place place) {
    String text = Scalars.string(node);
    if (text == null || text.isBlank()) {
      place.problem(node, Scalars.describe(node), expected());
      return null;
    }
    try {
      Path path = place.resolve(node, text);
      if (Files.isRegularFile(path) && Files.isReadable(path)) {
        return path;
      }
      place.problem(node, Scalars.show(node) + ", " + whatIsWrong(path), expected());
    } catch (InvalidPathException notAPath) {
      place.problem(node, Scalars.show(node) + ", which is no path", expected());
    }
    return null;
  }

  private static String whatIsWrong(Path path) {
    if (Files.isDirectory(path)) {
      return "a directory";
    }
    return Files.exists(path) ? "which cannot be read" : "which does not exist";
  }
}

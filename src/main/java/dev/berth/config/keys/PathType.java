package dev.berth.config.keys;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * A path, resolved against the folder of the configuration, and the value derived from it.
 *
 * @param wrong returns the problem with the file at the path; null for none
 * @param taken returns the value
 * @param written writes a value as a default
 */
record PathType<T>(
    String expected,
    Function<Path, @Nullable String> wrong,
    Function<Path, T> taken,
    Function<T, String> written)
    implements Type<T> {

  /** A path that need not exist. */
  static final Type<Path> ANY =
      new PathType<>("a path", path -> null, Function.identity(), Path::toString);

  /** A readable, existing file. */
  static final Type<Path> FILE = file(Function.identity(), Path::toString);

  /**
   * The content of a readable file that holds a secret, which is never printed; empty when the file
   * holds no text.
   */
  static final Type<String> SECRET = file(PathType::text, secret -> Secret.NOT_SHOWN);

  private static <T> Type<T> file(Function<Path, T> taken, Function<T, String> written) {
    return new PathType<>("the path of a readable file", PathType::whatIsWrong, taken, written);
  }

  private static String text(Path path) {
    try {
      return Files.readString(path).strip();
    } catch (IOException noText) {
      return "";
    }
  }

  private static @Nullable String whatIsWrong(Path path) {
    if (Files.isRegularFile(path) && Files.isReadable(path)) {
      return null;
    }
    if (Files.isDirectory(path)) {
      return "a directory";
    }
    return Files.exists(path) ? "which cannot be read" : "which does not exist";
  }

  @Override
  public @Nullable T read(Node node, ParseContext place) {
    String text = YamlScalars.string(node);
    if (text == null || text.isBlank()) {
      place.problem(node, YamlScalars.describe(node), expected);
      return null;
    }
    try {
      Path path = place.resolve(node, text);
      String problem = wrong.apply(path);
      if (problem == null) {
        return taken.apply(path);
      }
      place.problem(node, YamlScalars.show(node) + ", " + problem, expected);
    } catch (InvalidPathException notAPath) {
      place.problem(node, YamlScalars.show(node) + ", which is not a path", expected);
    }
    return null;
  }

  @Override
  public String write(T value) {
    return written.apply(value);
  }

  @Override
  public Map<String, Object> schema() {
    return Schema.text("\\S");
  }
}

package dev.berth.config;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/** A path, from the folder of the configuration, of what need not be there yet. */
final class AnyPath implements Type<Path> {

  @Override
  public String expected() {
    return "a path";
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
    if (text != null && !text.isBlank()) {
      try {
        return place.resolve(node, text);
      } catch (InvalidPathException notAPath) {
        // told below
      }
    }
    place.problem(node, Scalars.describe(node), expected());
    return null;
  }
}

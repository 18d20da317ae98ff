package dev.berth.config.keys;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/** A string that is never printed, even when invalid. */
final class Secret implements Type<String> {

  /** Text printed in place of a secret. */
  static final String NOT_SHOWN = "(not shown)";

  @Override
  public String expected() {
    return "a non-empty string";
  }

  @Override
  public @Nullable String read(Node node, ParseContext place) {
    String text = YamlScalars.string(node);
    if (text != null && !text.isEmpty()) {
      return text;
    }
    place.problem(node, text == null ? "no string; its value is not shown" : "empty", expected());
    return null;
  }

  @Override
  public Map<String, Object> schema() {
    return Schema.of("string").with("minLength", 1);
  }

  @Override
  public boolean allows(String value) {
    return !value.isEmpty();
  }

  @Override
  public String write(String value) {
    return NOT_SHOWN;
  }
}

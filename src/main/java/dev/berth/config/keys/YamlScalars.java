package dev.berth.config.keys;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/** Access to the scalar values of YAML's core schema: their kinds and values. */
public final class YamlScalars {

  private static final int MAX_DIGITS = 400; // more than the integer digits of any double

  private static final int MAX_SHOWN_CHARS = 60;

  private static final Map<Tag, String> KINDS =
      Map.of(
          Tag.STR, "a string",
          Tag.INT, "an integer",
          Tag.FLOAT, "a number with a fraction",
          Tag.BOOL, "a boolean");

  private static final String NULL = "|~|null|Null|NULL";

  private static final String BOOL = "true|True|TRUE|false|False|FALSE";

  private YamlScalars() {}

  /**
   * Returns the value of a key of a mapping; null when the key is missing or the node is no
   * mapping.
   */
  public static @Nullable Node child(@Nullable Node node, String key) {
    if (node instanceof MappingNode mapping) {
      for (NodeTuple each : mapping.getValue()) {
        if (key.equals(string(each.getKeyNode()))) {
          return each.getValueNode();
        }
      }
    }
    return null;
  }

  /** Returns whether the node is {@code null} or an empty value. */
  public static boolean isNull(Node node) {
    return node.getTag().equals(Tag.NULL)
        && (!(node instanceof ScalarNode scalar) || scalar.getValue().matches(NULL));
  }

  /** Returns the string at {@code node}; null when the node is of another kind. */
  public static @Nullable String string(Node node) {
    return node instanceof ScalarNode scalar && node.getTag().equals(Tag.STR)
        ? scalar.getValue()
        : null;
  }

  /** Returns the boolean at {@code node}; null when the node is of another kind. */
  static @Nullable Boolean bool(Node node) {
    return node instanceof ScalarNode scalar
            && node.getTag().equals(Tag.BOOL)
            && scalar.getValue().matches(BOOL) // an explicit tag does not check this
        ? Boolean.valueOf(scalar.getValue())
        : null;
  }

  /** Returns the integer at {@code node}, of any size; null when the node is of another kind. */
  static @Nullable BigInteger integer(Node node) {
    if (!(node instanceof ScalarNode scalar) || !node.getTag().equals(Tag.INT)) {
      return null;
    }
    String text = scalar.getValue();
    if (text.length() > MAX_DIGITS) {
      return null;
    }
    try {
      if (text.startsWith("0x")) {
        return new BigInteger(text.substring(2), 16);
      }
      if (text.startsWith("0o")) {
        return new BigInteger(text.substring(2), 8);
      }
      return new BigInteger(text);
    } catch (NumberFormatException notOne) {
      return null; // an explicit tag, as in !!int x
    }
  }

  /** Returns the number at {@code node}; null when the node is of another kind or not finite. */
  static @Nullable BigDecimal number(Node node) {
    BigInteger integer = integer(node);
    if (integer != null) {
      return new BigDecimal(integer);
    }
    if (!(node instanceof ScalarNode scalar)
        || !node.getTag().equals(Tag.FLOAT)
        || scalar.getValue().length() > MAX_DIGITS) {
      return null;
    }
    try {
      return new BigDecimal(scalar.getValue());
    } catch (NumberFormatException notFinite) {
      return null; // .inf, .nan
    }
  }

  /** Returns the text at {@code node} with its kind: {@code "8000", a string}. */
  public static String describe(Node node) {
    if (node instanceof MappingNode) {
      return "a mapping";
    }
    if (node instanceof SequenceNode) {
      return "a list";
    }
    if (isNull(node)) {
      return "null";
    }
    String kind = KINDS.get(node.getTag());
    return show(node)
        + ", "
        + (kind == null ? "tagged " + shorten(node.getTag().getValue()) : kind);
  }

  /** Returns the text at {@code node}, of bounded length; a string is quoted. */
  public static String show(Node node) {
    if (!(node instanceof ScalarNode scalar)) {
      return describe(node);
    }
    String text = shorten(scalar.getValue());
    return node.getTag().equals(Tag.STR) ? '"' + text + '"' : text;
  }

  /** Returns {@code text} on one line, of bounded length. */
  public static String shorten(String text) {
    String shown =
        text.length() <= MAX_SHOWN_CHARS ? text : text.substring(0, MAX_SHOWN_CHARS) + "...";
    StringBuilder line = new StringBuilder(shown);
    for (int i = 0; i < line.length(); i++) {
      if (Character.isISOControl(line.charAt(i))) {
        line.setCharAt(i, '?');
      }
    }
    return line.toString();
  }
}

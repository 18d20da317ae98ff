package dev.berth.config.keys;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * A mapping with user-defined keys. Its values are JSON values: String, Boolean, Integer or Long,
 * Double, null, List and Map, all unmodifiable and in the order of the file.
 *
 * <p>Depth and number of values are bounded, because a few lines of YAML aliases can expand to a
 * huge or endless tree.
 */
final class FreeFormMapType implements Type<Map<String, @Nullable Object>> {

  private static final int MAX_DEPTH = 64; // levels
  private static final int MAX_VALUES = 100_000;

  @Override
  public String expected() {
    return "a mapping";
  }

  @Override
  public Map<String, Object> schema() {
    return Schema.of("object");
  }

  @Override
  public @Nullable Map<String, @Nullable Object> read(Node node, ParseContext place) {
    if (!(node instanceof MappingNode mapping)) {
      place.problem(node, YamlScalars.describe(node), expected());
      return null;
    }
    TreeTraversal walk = new TreeTraversal();
    Map<String, @Nullable Object> map = walk.map(mapping, place, 1);
    return walk.failed ? null : map;
  }

  /** A traversal of one tree. Stops at the first problem, after reporting it. */
  private static final class TreeTraversal {
    private int values;
    private boolean failed;

    private @Nullable Object value(Node node, ParseContext place, int depth) {
      if (failed || YamlScalars.isNull(node)) {
        return null;
      }
      if (depth > MAX_DEPTH || ++values > MAX_VALUES) {
        return fail(
            node,
            place,
            depth > MAX_DEPTH ? "nested deeper than allowed" : "more values than allowed",
            "at most " + (depth > MAX_DEPTH ? MAX_DEPTH + " levels" : MAX_VALUES + " values"));
      }
      if (node instanceof MappingNode mapping) {
        return map(mapping, place, depth);
      }
      if (node instanceof SequenceNode sequence) {
        return list(sequence, place, depth);
      }
      return scalar(node, place);
    }

    private Map<String, @Nullable Object> map(MappingNode mapping, ParseContext place, int depth) {
      Map<String, @Nullable Object> map = new LinkedHashMap<>();
      for (NodeTuple entry : mapping.getValue()) {
        Node keyNode = entry.getKeyNode();
        String name = YamlScalars.string(keyNode);
        if (name == null) {
          fail(keyNode, place, YamlScalars.describe(keyNode) + " as a key", "a string; quote it");
          break;
        }
        ParseContext below = place.key(YamlScalars.shorten(name));
        if (map.containsKey(name)) {
          fail(keyNode, below, "given twice", "once");
          break;
        }
        map.put(name, value(entry.getValueNode(), below, depth + 1));
      }
      return Collections.unmodifiableMap(map);
    }

    private List<@Nullable Object> list(SequenceNode sequence, ParseContext place, int depth) {
      List<@Nullable Object> list = new ArrayList<>();
      for (Node item : sequence.getValue()) {
        list.add(value(item, place.item(list.size()), depth + 1));
      }
      return Collections.unmodifiableList(list);
    }

    private @Nullable Object scalar(Node node, ParseContext place) {
      String string = YamlScalars.string(node);
      if (string != null) {
        return string;
      }
      Boolean bool = YamlScalars.bool(node);
      if (bool != null) {
        return bool;
      }
      BigInteger integer = YamlScalars.integer(node);
      if (integer != null && integer.bitLength() < Long.SIZE) {
        return integer.bitLength() < Integer.SIZE
            ? (Object) integer.intValue()
            : (Object) integer.longValue();
      }
      BigDecimal number = integer == null ? YamlScalars.number(node) : null;
      if (number != null && Double.isFinite(number.doubleValue())) {
        return number.doubleValue();
      }
      String expected = "a JSON value; integers of at most 64 bits, finite numbers";
      return fail(node, place, YamlScalars.describe(node), expected);
    }

    private @Nullable Object fail(Node node, ParseContext place, String value, String expected) {
      if (!failed) {
        failed = true;
        place.problem(node, value, expected);
      }
      return null;
    }
  }
}

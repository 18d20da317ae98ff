package dev.berth.config.keys;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.common.ScalarStyle;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * Reader of the settings that one instance sends to another: effective values, without the checks
 * of a file.
 */
final class SettingsJson {
  private SettingsJson() {}

  static Settings settings(Section section, Map<?, ?> json) {
    Settings all = section.empty();
    for (ConfigKey<?> key : section.keys()) {
      Object told = json.get(key.name());
      Object value = told == null ? null : value(key.type(), told);
      if (told == null ? key.required() : value == null) {
        throw key.refusal(told == null ? "missing" : "unreadable", key.type().expected());
      }
      all = all.put(key, value);
    }
    return all;
  }

  /** Returns the value; null when it is invalid. */
  private static @Nullable Object value(Type<?> type, Object json) {
    if (type instanceof Section section) {
      return json instanceof Map<?, ?> map ? settings(section, map) : null;
    }
    if (type instanceof ListType<?> list && json instanceof List<?> items) {
      List<Object> all = new ArrayList<>();
      for (Object item : items) {
        Object value = value(list.item(), item);
        if (value == null) {
          return null;
        }
        all.add(value);
      }
      return List.copyOf(all);
    }
    Node node = node(json);
    return type instanceof ScalarType<?> scalar // permits values that a file could not contain
        ? scalar.reader().apply(node)
        : type.read(node, ParseContext.nowhere());
  }

  /** Returns the node that the parser of a file would produce. */
  private static Node node(@Nullable Object json) {
    if (json instanceof Map<?, ?> map) {
      List<NodeTuple> all = new ArrayList<>();
      map.forEach((name, value) -> all.add(new NodeTuple(node(name), node(value))));
      return new MappingNode(Tag.MAP, all, FlowStyle.AUTO);
    }
    if (json instanceof List<?> list) {
      return new SequenceNode(
          Tag.SEQ, list.stream().map(SettingsJson::node).toList(), FlowStyle.AUTO);
    }
    return new ScalarNode(tag(json), String.valueOf(json), ScalarStyle.PLAIN);
  }

  private static Tag tag(@Nullable Object json) {
    if (json instanceof Number) {
      return json.toString().matches("-?\\d+") ? Tag.INT : Tag.FLOAT;
    }
    if (json instanceof Boolean) {
      return Tag.BOOL;
    }
    return json == null ? Tag.NULL : Tag.STR;
  }
}

package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.ListType;
import dev.berth.config.keys.ParseContext;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.YamlScalars;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.common.ScalarStyle;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * Applies {@link Setting}s to the tree of a file before it is read, so that one pass checks both.
 * Creates missing mappings on the path, and a missing entry of {@code deployments}. Copies the
 * nodes on the path, because an alias may share them.
 */
record Overlay(ParseContext top) {

  private static final Pattern SEGMENT = Pattern.compile("([^.\\[\\]]+)|\\[([^\\[\\]]+)]");
  private static final String KEY = "key=value, with a key such as applications.shop.name";

  /** Returns {@code root} with all settings; later ones override earlier ones. */
  Node apply(Node root, List<Setting> settings) {
    Node node = root;
    for (Setting setting : settings) {
      List<String> segments = segments(setting.key());
      if (segments.isEmpty() || setting.value() == null) {
        String wrong = setting.value() == null ? "no value" : "no such key";
        top.problem(setting.option(), setting.key(), wrong, KEY);
        continue;
      }
      Node value = value(setting, setting.value());
      Node changed =
          value == null
              ? null
              : new SettingPath(top, setting, segments, value).set(node, ServeConfig.SECTION, 0);
      node = changed == null ? node : changed;
    }
    return node;
  }

  /** Splits a key into its names; empty when {@code key} is malformed. */
  static List<String> segments(String key) {
    List<String> segments = new ArrayList<>();
    Matcher matcher = SEGMENT.matcher(key);
    int end = 0;
    while (end < key.length()) {
      boolean dot = end > 0 && key.charAt(end) == '.';
      if (!matcher.find(end + (dot ? 1 : 0)) || matcher.start() != end + (dot ? 1 : 0)) {
        return List.of();
      }
      boolean bracket = matcher.group(1) == null;
      if (end > 0 && dot == bracket) {
        return List.of(); // malformed: a.[b] or [a]b
      }
      segments.add(bracket ? matcher.group(2) : matcher.group(1));
      end = matcher.end();
    }
    return segments;
  }

  /** Parses the value of a setting; null after reporting a problem. */
  private @Nullable Node value(Setting setting, String text) {
    Optional<Mark> mark = Optional.of(new Mark(setting.option(), 0, 0, 0, new int[0], 0));
    if (setting.verbatim()) {
      return string(text, mark);
    }
    try {
      return BoundedParser.compose(setting.option(), text)
          .orElseGet(() -> new ScalarNode(Tag.NULL, true, "", ScalarStyle.PLAIN, mark, mark));
    } catch (ConfigException malformed) {
      malformed
          .problems()
          .forEach(
              problem ->
                  top.problem(
                      setting.option(), setting.key(), problem.value(), "one value in YAML"));
      return null;
    }
  }

  private static Node string(String text, Optional<Mark> mark) {
    return new ScalarNode(Tag.STR, true, text, ScalarStyle.PLAIN, mark, Optional.empty());
  }

  /** Application of one setting along its path through the tree. */
  private record SettingPath(ParseContext top, Setting setting, List<String> segments, Node value) {

    /** Returns {@code node} with the value set below it; null after reporting a problem. */
    @Nullable Node set(@Nullable Node node, @Nullable Type<?> type, int depth) {
      if (depth == segments.size()) {
        return value;
      }
      if (node == null || YamlScalars.isNull(node)) {
        Node made =
            type instanceof ListType<?> ? list(List.of(), value) : mapping(List.of(), value);
        return set(made, type, depth);
      }
      if (node instanceof MappingNode mapping) {
        return setIn(mapping, type, depth);
      }
      if (node instanceof SequenceNode list) {
        return setIn(list, type, depth);
      }
      String there = String.join(".", segments.subList(0, depth));
      return problem(there + " is " + YamlScalars.describe(node), "a mapping or a list there");
    }

    private @Nullable Node problem(String what, String expected) {
      top.problem(setting.option(), setting.key(), what, expected);
      return null;
    }

    private @Nullable Node setIn(MappingNode mapping, @Nullable Type<?> type, int depth) {
      String name = segments.get(depth);
      ConfigKey<?> key = type instanceof Section section ? section.find(name) : null;
      Node before = YamlScalars.child(mapping, name);
      Node below = set(before, key == null ? null : key.type(), depth + 1);
      if (below == null) {
        return null;
      }
      List<NodeTuple> entries = new ArrayList<>(mapping.getValue());
      entries.replaceAll(
          each ->
              name.equals(YamlScalars.string(each.getKeyNode()))
                  ? new NodeTuple(each.getKeyNode(), below)
                  : each);
      if (before == null) {
        entries.add(new NodeTuple(string(name), below));
      }
      return mapping(entries, mapping);
    }

    private @Nullable Node setIn(SequenceNode list, @Nullable Type<?> type, int depth) {
      String segment = segments.get(depth);
      Section item =
          type instanceof ListType<?> of && of.item() instanceof Section section ? section : null;
      List<Node> items = new ArrayList<>(list.getValue());
      int at = indexOf(items, segment, item);
      if (at < 0) {
        if (item != DeploymentConfig.SECTION) {
          return problem("no entry " + segment + " in a list", entries(items, item));
        }
        at = items.size();
        items.add(mapping(List.of(new NodeTuple(string("name"), string(segment))), value));
      }
      Node below = set(items.get(at), item, depth + 1);
      if (below == null) {
        return null;
      }
      items.set(at, below);
      return list(items, list);
    }

    /** Returns the index of an item, found by name or else by index; -1 when there is none. */
    private static int indexOf(List<Node> items, String segment, @Nullable Section item) {
      int named = items.stream().map(each -> nameOf(each, item)).toList().indexOf(segment);
      boolean isIndex = segment.matches("[0-9]{1,6}") && Integer.parseInt(segment) < items.size();
      return named < 0 && isIndex ? Integer.parseInt(segment) : named;
    }

    private static @Nullable String nameOf(Node node, @Nullable Section item) {
      if (item == null || !(node instanceof MappingNode)) {
        return null;
      }
      Node name = YamlScalars.child(node, "name");
      return name != null
          ? YamlScalars.string(name)
          : item == ApplicationConfig.SECTION ? ApplicationConfig.DEFAULT_NAME : null;
    }

    private static String entries(List<Node> items, @Nullable Section item) {
      List<String> known = new ArrayList<>();
      for (Node each : items) {
        String name = nameOf(each, item);
        known.add(name == null ? "" + known.size() : YamlScalars.shorten(name));
      }
      return known.isEmpty() ? "nothing: the list is empty" : "one of " + String.join(", ", known);
    }

    private Node string(String text) {
      return Overlay.string(text, value.getStartMark());
    }

    private static Node mapping(List<NodeTuple> entries, Node at) {
      Optional<Mark> mark = at.getStartMark();
      return new MappingNode(Tag.MAP, true, entries, FlowStyle.AUTO, mark, Optional.empty());
    }

    private static Node list(List<Node> items, Node at) {
      Optional<Mark> mark = at.getStartMark();
      return new SequenceNode(Tag.SEQ, true, items, FlowStyle.AUTO, mark, Optional.empty());
    }
  }
}

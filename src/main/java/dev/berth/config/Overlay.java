package dev.berth.config;

import dev.berth.config.keys.Key;
import dev.berth.config.keys.ListOf;
import dev.berth.config.keys.Place;
import dev.berth.config.keys.Scalars;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Type;
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
 * Puts {@link Setting}s into the tree of a file before it is read, so that one reading checks both.
 * Mappings that are missing on the way are made, and so is an entry of {@code deployments}. What is
 * on the way is copied, since an alias may let it stand in several places.
 */
final class Overlay {

  private static final Pattern SEGMENT = Pattern.compile("([^.\\[\\]]+)|\\[([^\\[\\]]+)]");
  private static final String KEY = "key=value, with a key as in applications.shop.name";

  private final Place top;

  Overlay(Place top) {
    this.top = top;
  }

  /** {@code root} with all settings, later ones over earlier ones. */
  Node apply(Node root, List<Setting> settings) {
    Node node = root;
    for (Setting setting : settings) {
      List<String> segments = segments(setting.key());
      Node value = segments.isEmpty() ? null : value(setting);
      if (value == null) {
        if (segments.isEmpty() || setting.value() == null) {
          top.problem(
              setting.option(),
              setting.key(),
              setting.value() == null ? "no value" : "no such key",
              KEY);
        }
        continue;
      }
      Node changed = new Path(setting, segments, value).set(node, ServeConfig.SECTION, 0);
      node = changed == null ? node : changed;
    }
    return node;
  }

  /** Empty when {@code key} is none. */
  private static List<String> segments(String key) {
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
        return List.of(); // a.[b], or [a]b
      }
      segments.add(bracket ? matcher.group(2) : matcher.group(1));
      end = matcher.end();
    }
    return segments;
  }

  /** Null after its problem is reported, or when there is none. */
  private @Nullable Node value(Setting setting) {
    String text = setting.value();
    if (text == null) {
      return null;
    }
    Optional<Mark> mark = Optional.of(new Mark(setting.option(), 0, 0, 0, new int[0], 0));
    if (setting.verbatim()) {
      return new ScalarNode(Tag.STR, true, text, ScalarStyle.PLAIN, mark, mark);
    }
    try {
      return ConfigReader.compose(setting.option(), text)
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

  /** One setting's way through the tree. */
  private final class Path {
    private final Setting setting;
    private final List<String> segments;
    private final Node value;

    Path(Setting setting, List<String> segments, Node value) {
      this.setting = setting;
      this.segments = segments;
      this.value = value;
    }

    /** {@code node} with the value below it; null after a problem is reported. */
    private @Nullable Node set(@Nullable Node node, @Nullable Type<?> type, int depth) {
      if (depth == segments.size()) {
        return value;
      }
      if (node == null || Scalars.isNull(node)) {
        return set(
            type instanceof ListOf<?> ? sequence(List.of()) : mapping(List.of()), type, depth);
      }
      if (node instanceof MappingNode mapping) {
        return setIn(mapping, type, depth);
      }
      if (node instanceof SequenceNode sequence) {
        return setIn(sequence, type, depth);
      }
      top.problem(
          setting.option(),
          setting.key(),
          String.join(".", segments.subList(0, depth)) + " is " + Scalars.describe(node),
          "a mapping or a list there");
      return null;
    }

    private @Nullable Node setIn(MappingNode mapping, @Nullable Type<?> type, int depth) {
      String name = segments.get(depth);
      Key<?> key = type instanceof Section section ? section.find(name) : null;
      List<NodeTuple> entries = new ArrayList<>(mapping.getValue());
      int at = 0;
      while (at < entries.size() && !name.equals(Scalars.string(entries.get(at).getKeyNode()))) {
        at++;
      }
      boolean found = at < entries.size();
      Node below =
          set(
              found ? entries.get(at).getValueNode() : null,
              key == null ? null : key.type(),
              depth + 1);
      if (below == null) {
        return null;
      }
      if (found) {
        entries.set(at, new NodeTuple(entries.get(at).getKeyNode(), below));
      } else {
        entries.add(new NodeTuple(string(name), below));
      }
      return new MappingNode(
          mapping.getTag(),
          true,
          entries,
          FlowStyle.AUTO,
          mapping.getStartMark(),
          Optional.empty());
    }

    private @Nullable Node setIn(SequenceNode sequence, @Nullable Type<?> type, int depth) {
      String segment = segments.get(depth);
      Section item =
          type instanceof ListOf<?> list && list.item() instanceof Section section ? section : null;
      List<Node> items = new ArrayList<>(sequence.getValue());
      int at = indexOf(items, segment, item);
      if (at < 0) {
        if (item != DeploymentConfig.SECTION) {
          top.problem(
              setting.option(),
              setting.key(),
              "no entry " + segment + " in a list",
              entries(items, item));
          return null;
        }
        at = items.size();
        items.add(mapping(List.of(new NodeTuple(string("name"), string(segment)))));
      }
      Node below = set(items.get(at), item, depth + 1);
      if (below == null) {
        return null;
      }
      items.set(at, below);
      return new SequenceNode(
          sequence.getTag(),
          true,
          items,
          FlowStyle.AUTO,
          sequence.getStartMark(),
          Optional.empty());
    }

    /** By name, else by index; -1 when there is none. */
    private int indexOf(List<Node> items, String segment, @Nullable Section item) {
      for (int i = 0; i < items.size(); i++) {
        if (segment.equals(nameOf(items.get(i), item))) {
          return i;
        }
      }
      boolean isIndex = segment.matches("[0-9]{1,6}") && Integer.parseInt(segment) < items.size();
      return isIndex ? Integer.parseInt(segment) : -1;
    }

    private @Nullable String nameOf(Node node, @Nullable Section item) {
      if (item == null || !(node instanceof MappingNode)) {
        return null;
      }
      Node name = Scalars.child(node, "name");
      return name != null
          ? Scalars.string(name)
          : item == ApplicationConfig.SECTION ? ApplicationConfig.DEFAULT_NAME : null;
    }

    private String entries(List<Node> items, @Nullable Section item) {
      List<String> known = new ArrayList<>();
      for (int i = 0; i < items.size(); i++) {
        String name = nameOf(items.get(i), item);
        known.add(name == null ? Integer.toString(i) : Scalars.shorten(name));
      }
      return known.isEmpty() ? "nothing: the list is empty" : "one of " + String.join(", ", known);
    }

    private ScalarNode string(String text) {
      return new ScalarNode(
          Tag.STR, true, text, ScalarStyle.PLAIN, value.getStartMark(), Optional.empty());
    }

    private MappingNode mapping(List<NodeTuple> entries) {
      return new MappingNode(
          Tag.MAP, true, entries, FlowStyle.AUTO, value.getStartMark(), Optional.empty());
    }

    private SequenceNode sequence(List<Node> items) {
      return new SequenceNode(
          Tag.SEQ, true, items, FlowStyle.AUTO, value.getStartMark(), Optional.empty());
    }
  }
}

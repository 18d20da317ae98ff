package dev.berth.config.keys;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * The keys of one mapping of the file; each is a row of the reference's table. Immutable; methods
 * that add to a section return a new one.
 */
public final class Section implements Type<Settings> {

  /** Prefix of the refusal of a Ray Serve feature; the reason follows. */
  public static final String NOT_SUPPORTED = "not supported by this version: ";

  private final List<ConfigKey<?>> keys;
  private final Map<String, String> refused;
  private final Map<String, String> misplaced;
  private final Consumer<Settings> check;
  final List<ConfigKey<Settings>> mappings; // keys of the mappings in it
  private final Settings empty;

  private Section(
      List<ConfigKey<?>> keys,
      Map<String, String> refused,
      Map<String, String> misplaced,
      Consumer<Settings> check) {
    this.keys = keys;
    this.refused = refused;
    this.misplaced = misplaced;
    this.check = check;
    this.mappings = keys.stream().filter(ConfigKey::merged).map(Section::mapping).toList();
    this.empty = Settings.empty(this);
  }

  @SuppressWarnings("unchecked") // only mappings are merged
  private static ConfigKey<Settings> mapping(ConfigKey<?> key) {
    return (ConfigKey<Settings>) key;
  }

  /** Creates a section of these keys, in this order; each key belongs to one section. */
  public static Section of(ConfigKey<?>... keys) {
    return new Section(List.of(keys), Map.of(), Map.of(), values -> {});
  }

  /** Returns a section with the keys and refusals of {@code more} added. */
  public Section and(Section more) {
    List<ConfigKey<?>> all = new ArrayList<>(keys);
    all.addAll(more.keys);
    return new Section(
        List.copyOf(all), with(refused, more.refused), with(misplaced, more.misplaced), check);
  }

  /**
   * Returns a section that refuses a name of Ray Serve's, because ignoring it would mislead. The
   * value {@code null} requests nothing and is permitted.
   *
   * @param why a clause that follows {@link #NOT_SUPPORTED}
   */
  public Section refuse(String name, String why) {
    return new Section(keys, with(refused, Map.of(name, why)), misplaced, check);
  }

  /** Returns a section that refuses a name and suggests its correct path. */
  public Section misplaced(String name, String rightPath) {
    return new Section(keys, refused, with(misplaced, Map.of(name, rightPath)), check);
  }

  private static Map<String, String> with(Map<String, String> some, Map<String, String> more) {
    Map<String, String> all = new LinkedHashMap<>(some);
    all.putAll(more);
    return Collections.unmodifiableMap(all);
  }

  /**
   * Returns a section with a rule over several keys. The rule runs when the mapping is read, and
   * reports problems through the values.
   */
  public Section check(Consumer<Settings> rule) {
    return new Section(keys, refused, misplaced, rule);
  }

  /** Returns the keys in the order of their declaration, which is that of the reference. */
  public List<ConfigKey<?>> keys() {
    return keys;
  }

  /** Returns the names of Ray Serve's that this version refuses, with the reasons. */
  public Map<String, String> refusals() {
    return refused;
  }

  /** Returns settings without values: every key has its default. */
  public Settings empty() {
    return empty;
  }

  /**
   * Returns the index of a key, compared by identity because each key is declared once; -1 for a
   * key of another section.
   */
  int indexOf(ConfigKey<?> key) {
    return keys.indexOf(key);
  }

  /** Returns whether a key belongs to this section, or to a mapping in it. */
  boolean knows(ConfigKey<?> key) {
    return pathOf(key) != null;
  }

  /**
   * Returns the path from this section, as in {@code limits.max_connections}; null for a key of
   * another section.
   */
  @Nullable String pathOf(ConfigKey<?> key) {
    if (indexOf(key) >= 0) {
      return key.name();
    }
    for (ConfigKey<Settings> inner : mappings) {
      String below = inner.type() instanceof Section section ? section.pathOf(key) : null;
      if (below != null) {
        return inner.name() + "." + below;
      }
    }
    return null;
  }

  /**
   * Returns the path of the first key called {@code name} here or below, as in {@code
   * applications[].name}; null when there is none.
   */
  public @Nullable String pathOf(String name) {
    if (find(name) != null) {
      return name;
    }
    for (ConfigKey<?> key : keys) {
      boolean list = key.type() instanceof ListType<?>;
      Type<?> type = key.type() instanceof ListType<?> items ? items.item() : key.type();
      String below = type instanceof Section inner ? inner.pathOf(name) : null;
      if (below != null) {
        return key.name() + (list ? "[]." : ".") + below;
      }
    }
    return null;
  }

  @Override
  public String expected() {
    return "a mapping";
  }

  @Override
  public String write(Settings value) {
    return "";
  }

  @Override
  public Map<String, Object> schema() {
    Map<String, Object> properties = new LinkedHashMap<>();
    keys.forEach(key -> properties.put(key.name(), Schema.ofKey(key)));
    refused.forEach(
        (name, why) ->
            properties.put(name, Schema.of("null").with("description", "Refused: " + why + ".")));
    Schema schema = Schema.of("object").with("properties", properties);
    List<String> required = keys.stream().filter(ConfigKey::required).map(ConfigKey::name).toList();
    if (!required.isEmpty()) {
      schema.with("required", required);
    }
    return schema.with("additionalProperties", false);
  }

  @Override
  public @Nullable Settings read(Node node, ParseContext place) {
    if (!(node instanceof MappingNode mapping)) {
      place.problem(node, YamlScalars.describe(node), expected());
      return null;
    }
    place.recordPosition(node);
    Map<String, Node> given = new LinkedHashMap<>();
    Map<String, Integer> lines = new HashMap<>();
    Settings values = Settings.reading(this, new NodePositions(node, given, place));
    for (NodeTuple entry : mapping.getValue()) {
      String name = nameOf(entry.getKeyNode(), place, lines);
      if (name != null) {
        ConfigKey<?> key = find(name);
        if (key == null) {
          reject(name, entry, place.key(YamlScalars.shorten(name)));
        } else {
          place.key(name).recordPosition(entry.getValueNode());
          given.put(name, entry.getValueNode());
          readValue(key, entry.getValueNode(), place.key(name), values);
          warnOf(key, entry, place.key(name));
        }
      }
    }
    for (ConfigKey<?> key : keys) {
      if (key.required() && !given.containsKey(key.name())) {
        place.key(key.name()).problem(node, "missing", key.type().expected());
        values.markInvalid(key);
      }
    }
    check.accept(values);
    return values;
  }

  /** Returns the name of a key; null after reporting a problem. */
  private static @Nullable String nameOf(
      Node node, ParseContext place, Map<String, Integer> lines) {
    if (!(node instanceof ScalarNode scalar) || !scalar.getTag().equals(Tag.STR)) {
      place.problem(node, YamlScalars.describe(node) + " as a key", "a name");
      return null;
    }
    int line = node.getStartMark().map(mark -> mark.getLine() + 1).orElse(0);
    Integer first = lines.putIfAbsent(scalar.getValue(), line);
    if (first != null) {
      place
          .key(YamlScalars.shorten(scalar.getValue()))
          .problem(node, "given twice", "once; it is on line " + first + " already");
      return null;
    }
    return scalar.getValue();
  }

  /**
   * Reads settings in the form that instances exchange. They were checked before; unknown names are
   * ignored.
   *
   * @throws IllegalArgumentException naming a key whose value is invalid or missing
   */
  public Settings fromMap(Map<?, ?> json) {
    return SettingsJson.settings(this, json);
  }

  /** Returns the key of that name; null when there is none. */
  public @Nullable ConfigKey<?> find(String name) {
    return keys.stream().filter(key -> key.name().equals(name)).findFirst().orElse(null);
  }

  private static <T> void readValue(
      ConfigKey<T> key, Node node, ParseContext place, Settings values) {
    boolean isNull = YamlScalars.isNull(node);
    if (isNull && !key.nullable()) {
      place.problem(node, "null", key.type().expected());
    }
    T value = isNull ? null : key.read(node, place);
    if (value == null && !(isNull && key.nullable())) {
      values.markInvalid(key);
    } else {
      values.set(key, value);
    }
  }

  /**
   * Reports warnings of a key. The value {@code null} requests nothing, so it causes no warning.
   */
  private static void warnOf(ConfigKey<?> key, NodeTuple entry, ParseContext place) {
    if (key.noEffect() != null && !YamlScalars.isNull(entry.getValueNode())) {
      place.warning(entry.getKeyNode(), "has no effect: " + key.noEffect(), "leave it out");
    } else if (key.instead() != null && !YamlScalars.isNull(entry.getValueNode())) {
      place.warning(entry.getKeyNode(), "deprecated", key.instead());
    }
  }

  private void reject(String name, NodeTuple entry, ParseContext place) {
    Node node = entry.getKeyNode();
    String why = refused.get(name);
    String rightPath = misplaced.get(name);
    if (why != null) {
      if (!YamlScalars.isNull(entry.getValueNode())) {
        place.problem(node, NOT_SUPPORTED + why, "leave it out");
      }
    } else if (rightPath != null) {
      place.problem(node, "does not belong here", rightPath);
    } else if (place.problems().isFull()) {
      place.problem(node, "unknown key", "none");
    } else {
      String near = KeySuggestion.forName(name, keys.stream().map(ConfigKey::name).toList());
      String suggestion = near != null ? near : place.elsewhere(name);
      place.problem(
          node,
          suggestion == null ? "unknown key" : "unknown key, did you mean " + suggestion + "?",
          expectedName());
    }
  }

  /** Returns the names of the keys that have an effect and are not deprecated. */
  private String expectedName() {
    String names =
        keys.stream()
            .filter(key -> key.noEffect() == null && key.instead() == null)
            .map(ConfigKey::name)
            .collect(Collectors.joining(", "));
    return names.isEmpty() ? "leave it out" : "one of " + names;
  }
}

package dev.berth.config;

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
 * The keys of one mapping of the file: a row of the table for each. Immutable; the methods that add
 * to it return a new one.
 */
final class Section implements Type<Values> {

  /** How a refusal of something Ray Serve has begins; why it is refused follows. */
  static final String NOT_SUPPORTED = "not supported by this version: ";

  private final List<Key<?>> keys;
  private final Map<String, String> refused;
  private final Map<String, String> misplaced;
  private final Consumer<Values> check;

  private Section(
      List<Key<?>> keys,
      Map<String, String> refused,
      Map<String, String> misplaced,
      Consumer<Values> check) {
    this.keys = keys;
    this.refused = refused;
    this.misplaced = misplaced;
    this.check = check;
  }

  static Section of(Key<?>... keys) {
    return new Section(List.of(keys), Map.of(), Map.of(), values -> {});
  }

  /** These keys and those of {@code more}, with what it refuses. */
  Section and(Section more) {
    List<Key<?>> all = new ArrayList<>(keys);
    all.addAll(more.keys);
    return new Section(
        List.copyOf(all), with(refused, more.refused), with(misplaced, more.misplaced), check);
  }

  /**
   * A name Ray Serve has here, refused because ignoring it would mislead; {@code null} asks for
   * nothing and is let pass.
   *
   * @param why a clause that follows {@link #NOT_SUPPORTED}
   */
  Section refuse(String name, String why) {
    return new Section(keys, with(refused, Map.of(name, why)), misplaced, check);
  }

  /** A name that belongs elsewhere. */
  Section misplaced(String name, String rightPath) {
    return new Section(keys, refused, with(misplaced, Map.of(name, rightPath)), check);
  }

  private static Map<String, String> with(Map<String, String> some, Map<String, String> more) {
    Map<String, String> all = new LinkedHashMap<>(some);
    all.putAll(more);
    return Collections.unmodifiableMap(all);
  }

  /** A rule over several keys, run when the mapping is read; it reports through the values. */
  Section check(Consumer<Values> rule) {
    return new Section(keys, refused, misplaced, rule);
  }

  /** In the order of their declaration, which is that of the reference. */
  List<Key<?>> keys() {
    return keys;
  }

  /** What Ray Serve has here and this version refuses, and why. */
  Map<String, String> refused() {
    return refused;
  }

  /** By identity: each key is declared once. */
  boolean has(Key<?> key) {
    for (Key<?> own : keys) {
      if (own == key) {
        return true;
      }
    }
    return false;
  }

  @Override
  public String expected() {
    return "a mapping";
  }

  @Override
  public boolean allows(Values value) {
    return true;
  }

  @Override
  public String write(Values value) {
    return "";
  }

  @Override
  public Map<String, Object> schema() {
    Map<String, Object> properties = new LinkedHashMap<>();
    keys.forEach(key -> properties.put(key.name(), key.schema()));
    refused.forEach(
        (name, why) ->
            properties.put(name, Schema.of("null").with("description", "Refused: " + why + ".")));
    Schema schema = Schema.of("object").with("properties", properties);
    List<String> required = keys.stream().filter(Key::required).map(Key::name).toList();
    if (!required.isEmpty()) {
      schema.with("required", required);
    }
    return schema.with("additionalProperties", false);
  }

  @Override
  public @Nullable Values read(Node node, Place place) {
    if (!(node instanceof MappingNode mapping)) {
      place.problem(node, Scalars.describe(node), expected());
      return null;
    }
    place.remember(node);
    Map<String, Values.Given> given = new LinkedHashMap<>();
    Map<String, Integer> lines = new HashMap<>();
    for (NodeTuple entry : mapping.getValue()) {
      String name = nameOf(entry.getKeyNode(), place, lines);
      if (name != null) {
        Key<?> key = find(name);
        if (key == null) {
          reject(name, entry, place.key(Scalars.shorten(name)));
        } else {
          place.key(name).remember(entry.getValueNode());
          given.put(name, readValue(key, entry.getValueNode(), place.key(name)));
          warnIfNoEffect(key, entry, place.key(name));
        }
      }
    }
    for (Key<?> key : keys) {
      if (key.required() && !given.containsKey(key.name())) {
        place.key(key.name()).problem(node, "missing", key.type().expected());
        given.put(key.name(), new Values.Given(node, null, true));
      }
    }
    Values values = new Values(this, given, node, place);
    check.accept(values);
    return values;
  }

  /** The name of a key, or null after the problem with it is reported. */
  private static @Nullable String nameOf(Node node, Place place, Map<String, Integer> lines) {
    if (!(node instanceof ScalarNode scalar) || !scalar.getTag().equals(Tag.STR)) {
      place.problem(node, Scalars.describe(node) + " as a key", "a name");
      return null;
    }
    int line = node.getStartMark().map(mark -> mark.getLine() + 1).orElse(0);
    Integer first = lines.putIfAbsent(scalar.getValue(), line);
    if (first != null) {
      place
          .key(Scalars.shorten(scalar.getValue()))
          .problem(node, "given twice", "once; it is on line " + first + " already");
      return null;
    }
    return scalar.getValue();
  }

  /** The key of that name, or null. */
  @Nullable Key<?> find(String name) {
    for (Key<?> key : keys) {
      if (key.name().equals(name)) {
        return key;
      }
    }
    return null;
  }

  private static <T> Values.Given readValue(Key<T> key, Node node, Place place) {
    if (Scalars.isNull(node)) {
      if (!key.nullable()) {
        place.problem(node, "null", key.type().expected());
      }
      return new Values.Given(node, null, !key.nullable());
    }
    T value = key.type().read(node, place);
    return new Values.Given(node, value, value == null);
  }

  /** {@code null} asks for nothing, so there is nothing to warn of. */
  private static void warnIfNoEffect(Key<?> key, NodeTuple entry, Place place) {
    if (key.noEffect() != null && !Scalars.isNull(entry.getValueNode())) {
      place.warning(entry.getKeyNode(), "has no effect: " + key.noEffect(), "leave it out");
    }
  }

  private void reject(String name, NodeTuple entry, Place place) {
    Node node = entry.getKeyNode();
    String why = refused.get(name);
    String rightPath = misplaced.get(name);
    if (why != null) {
      if (!Scalars.isNull(entry.getValueNode())) {
        place.problem(node, NOT_SUPPORTED + why, "leave it out");
      }
    } else if (rightPath != null) {
      place.problem(node, "does not belong here", rightPath);
    } else if (place.isFull()) {
      place.problem(node, "unknown key", "none");
    } else {
      String suggestion = Suggestion.forName(name, keys.stream().map(Key::name).toList());
      place.problem(
          node,
          suggestion == null ? "unknown key" : "unknown key, did you mean " + suggestion + "?",
          expectedName());
    }
  }

  /** The keys that do something here. */
  private String expectedName() {
    String names =
        keys.stream()
            .filter(key -> key.noEffect() == null)
            .map(Key::name)
            .collect(Collectors.joining(", "));
    return names.isEmpty() ? "leave it out" : "one of " + names;
  }
}

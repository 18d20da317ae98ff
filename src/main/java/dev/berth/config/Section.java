package dev.berth.config;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
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

  private final List<Key<?>> keys;
  private final Set<String> notYet;
  private final Map<String, String> misplaced;
  private final Consumer<Values> check;

  private Section(
      List<Key<?>> keys,
      Set<String> notYet,
      Map<String, String> misplaced,
      Consumer<Values> check) {
    this.keys = keys;
    this.notYet = notYet;
    this.misplaced = misplaced;
    this.check = check;
  }

  static Section of(Key<?>... keys) {
    return new Section(List.of(keys), Set.of(), Map.of(), values -> {});
  }

  /** Names Ray Serve has here and this version has not: refused in these words. */
  Section notYet(String... names) {
    return new Section(keys, new LinkedHashSet<>(List.of(names)), misplaced, check);
  }

  /** A name that belongs elsewhere. */
  Section misplaced(String name, String rightPath) {
    Map<String, String> all = new HashMap<>(misplaced);
    all.put(name, rightPath);
    return new Section(keys, notYet, all, check);
  }

  /** A rule over several keys, run when the mapping is read; it reports through the values. */
  Section check(Consumer<Values> rule) {
    return new Section(keys, notYet, misplaced, rule);
  }

  /** In the order of their declaration, which is that of the reference. */
  List<Key<?>> keys() {
    return keys;
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
  public @Nullable Values read(Node node, Place place) {
    if (!(node instanceof MappingNode mapping)) {
      place.problem(node, Scalars.describe(node), expected());
      return null;
    }
    Map<String, Values.Given> given = new LinkedHashMap<>();
    Map<String, Integer> lines = new HashMap<>();
    for (NodeTuple entry : mapping.getValue()) {
      String name = nameOf(entry.getKeyNode(), place, lines);
      if (name != null) {
        Key<?> key = find(name);
        if (key == null) {
          refuse(name, entry.getKeyNode(), place.key(name));
        } else {
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

  private @Nullable Key<?> find(String name) {
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

  private void refuse(String name, Node node, Place place) {
    String rightPath = misplaced.get(name);
    if (notYet.contains(name)) {
      place.problem(node, NotYet.TEXT, "leave it out");
    } else if (rightPath != null) {
      place.problem(node, "does not belong here", rightPath);
    } else {
      List<String> names = keys.stream().map(Key::name).toList();
      String suggestion = Suggestion.forName(name, names);
      place.problem(
          node,
          suggestion == null ? "unknown key" : "unknown key, did you mean " + suggestion + "?",
          "one of " + String.join(", ", names));
    }
  }
}

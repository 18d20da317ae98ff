package dev.berth.config.keys;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/** A list with items of one type. An invalid item is reported and omitted. */
public record ListType<T>(Type<T> item) implements Type<List<T>> {

  @Override
  public String expected() {
    return item instanceof Section ? "a list of mappings" : "a list";
  }

  @Override
  public @Nullable List<T> read(Node node, ParseContext place) {
    if (!(node instanceof SequenceNode sequence)) {
      place.problem(node, YamlScalars.describe(node), expected());
      return null;
    }
    List<T> items = new ArrayList<>();
    int index = 0;
    for (Node itemNode : sequence.getValue()) {
      T value = item.read(itemNode, place.item(index++));
      if (value != null) {
        items.add(value);
      }
    }
    return List.copyOf(items);
  }

  @Override
  public Map<String, Object> schema() {
    return Schema.of("array").with("items", item.schema());
  }

  @Override
  public boolean allows(List<T> value) {
    return value.stream().allMatch(item::allows);
  }

  @Override
  public String write(List<T> value) {
    return Arrays.toString(value.stream().map(item::write).toArray());
  }
}

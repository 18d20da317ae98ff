package dev.berth.cluster.bus;

import dev.berth.protocol.json.RecordReader;
import dev.berth.protocol.json.RecordWriter;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * A change of the event bus addresses with consumers of applications, for one process.
 *
 * @param node bus name of the process
 * @param number number of the last change that this one includes, counted by the process
 * @param whole whether {@code added} is the complete set
 */
public record AddressChange(
    String node, long number, boolean whole, List<String> added, List<String> removed) {
  /** Member of a message of the control link whose value is a list of changes. */
  public static final String MEMBER = "addresses";

  public AddressChange {
    added = List.copyOf(added);
    removed = List.copyOf(removed);
  }

  /** Returns the absence of all addresses of a process. */
  static AddressChange none(String node) {
    return new AddressChange(node, 0, true, List.of(), List.of());
  }

  /** Returns the change between two complete sets. */
  AddressChange since(AddressChange before) {
    return new AddressChange(
        node, number, false, without(added, before.added), without(before.added, added));
  }

  private static List<String> without(List<String> all, List<String> others) {
    Set<String> not = Set.copyOf(others);
    return all.stream().filter(each -> !not.contains(each)).toList();
  }

  /** Returns the message of the control link that contains changes. */
  public static JsonObject message(List<AddressChange> changes) {
    return new JsonObject().put(MEMBER, encode(changes));
  }

  /** Returns the JSON form of changes. */
  public static JsonArray encode(List<AddressChange> changes) {
    JsonArray all = new JsonArray();
    changes.forEach(each -> all.add(new RecordWriter().record(each)));
    return all;
  }

  /**
   * Reads changes.
   *
   * @throws IllegalArgumentException naming the missing or invalid member
   */
  public static List<AddressChange> decode(JsonArray all) {
    RecordReader reader = new RecordReader();
    return IntStream.range(0, all.size())
        .mapToObj(i -> reader.record(MEMBER + "[" + i + "]", all.getValue(i), AddressChange.class))
        .toList();
  }
}

package dev.berth.cluster.bus;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The controller's table of event bus addresses with consumers of applications, by process. The
 * state log does not contain it: each node sends its addresses again after it reconnects. Confined
 * to the control loop.
 */
public final class AddressRegistrations {
  private static final class RegisteredNode {
    final long registration;
    long number; // of the last applied change
    final Set<String> addresses = new LinkedHashSet<>();
    @Nullable AddressChange published; // complete set as last published

    RegisteredNode(long registration) {
      this.registration = registration;
    }

    AddressChange whole(String node) {
      return new AddressChange(node, number, true, List.copyOf(addresses), List.of());
    }
  }

  private final Map<String, RegisteredNode> nodes = new HashMap<>(); // by bus name
  private final Set<String> changed =
      new LinkedHashSet<>(); // bus names, since the last publication

  /** Admits a process. Addresses of an earlier registration of the process are removed. */
  public void join(String node, long registration) {
    RegisteredNode known = nodes.get(node);
    if (known == null || known.registration != registration) {
      remove(node);
      nodes.put(node, new RegisteredNode(registration));
    }
  }

  /** Removes a lost process, or one that left, with its addresses. */
  public void remove(String node) {
    RegisteredNode removed = nodes.remove(node);
    if (removed != null && removed.published != null) {
      changed.add(node);
    }
  }

  /**
   * Applies a change of a process.
   *
   * @param registration registration whose link carried the change
   * @return false for a registration that is not the current one, or a repeated change
   * @throws IllegalArgumentException when the process exceeds the maximum of addresses
   */
  public boolean apply(String node, long registration, AddressChange change) {
    RegisteredNode known = nodes.get(node);
    if (known == null
        || known.registration != registration
        || !change.node().equals(node)
        || change.number() <= known.number) {
      return false;
    }
    if (change.whole()) {
      known.addresses.clear();
    }
    change.removed().forEach(known.addresses::remove);
    known.addresses.addAll(change.added());
    if (known.addresses.size() > ApplicationAddresses.MAX_ADDRESSES) {
      throw new IllegalArgumentException(
          "addresses of %s: %d (expected: at most %d)"
              .formatted(node, known.addresses.size(), ApplicationAddresses.MAX_ADDRESSES));
    }
    known.number = change.number();
    changed.add(node);
    return true;
  }

  /** Returns whether there are changes to publish. */
  public boolean hasChanges() {
    return !changed.isEmpty();
  }

  /** Returns the bus names of all processes. */
  public Set<String> nodes() {
    return nodes.keySet();
  }

  /**
   * Returns the changes since the last publication, for all nodes.
   *
   * @param most maximum number of processes; the others come first next time
   */
  public List<AddressChange> publish(int most) {
    List<AddressChange> all = new ArrayList<>();
    for (String node : changed.stream().limit(most).toList()) {
      changed.remove(node);
      RegisteredNode now = nodes.get(node);
      if (now == null) {
        all.add(AddressChange.none(node));
      } else {
        AddressChange before = now.published;
        AddressChange whole = now.whole(node);
        all.add(before == null ? whole : whole.since(before));
        now.published = whole;
      }
    }
    return all;
  }

  /** Returns the last published addresses of some processes, for a node that has connected. */
  public List<AddressChange> published(Collection<String> names) {
    return names.stream()
        .flatMap(each -> Stream.ofNullable(nodes.get(each)))
        .flatMap(each -> Stream.ofNullable(each.published))
        .toList();
  }

  /** Returns the number of addresses of a process. */
  public int count(String node) {
    RegisteredNode known = nodes.get(node);
    return known == null ? 0 : known.addresses.size();
  }
}

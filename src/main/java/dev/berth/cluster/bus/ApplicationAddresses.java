package dev.berth.cluster.bus;

import io.vertx.core.Completable;
import io.vertx.core.spi.cluster.RegistrationInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The event bus addresses with consumers of applications, as one node knows them: its own, reported
 * to the controller, and those of other nodes, as last published. Thread-safe.
 */
public final class ApplicationAddresses extends BusRegistrations {
  /** Maximum number of addresses with consumers on one node. */
  public static final int MAX_ADDRESSES = 1_000;

  static final int MAX_ADDRESS_CHARS = 256;

  /** Maximum wait for the controller's confirmation, in nanoseconds. */
  public static final long CONFIRM_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** A registration that the controller has not confirmed. */
  private record PendingRegistration(long number, long dueNanos, Completable<Void> done) {}

  private final String node;
  private final LongSupplier nanoClock;
  private volatile Runnable changed = () -> {};
  private final Map<String, Set<Long>> here =
      new ConcurrentHashMap<>(); // all consumers, by address
  private final Map<String, List<String>> elsewhere = new ConcurrentHashMap<>(); // nodes by address

  // Guarded by this.
  private final Map<String, Set<Long>> shared = new HashMap<>(); // reported consumers, by address
  private final Map<String, Set<String>> others = new HashMap<>(); // addresses, by bus name
  private final List<PendingRegistration> unconfirmed = new ArrayList<>();
  private AddressChange reported; // complete
  private long number; // of the last report
  private long confirmed; // last report that the controller has applied

  /**
   * @param node bus name of this process
   */
  public ApplicationAddresses(String node, LongSupplier nanoClock) {
    this.node = node;
    this.nanoClock = nanoClock;
    this.reported = AddressChange.none(node);
  }

  /** Sets the listener of changes of the own addresses, which any thread calls. */
  public void onChange(Runnable listener) {
    changed = listener;
  }

  // --- own consumers ---

  /**
   * Adds a consumer. A consumer beyond the limit fails, and receives messages of this node only.
   *
   * @param done completes when the controller knows the address
   */
  @Override
  public void add(String address, RegistrationInfo consumer, Completable<Void> done) {
    String refused = null;
    boolean known = consumer.localOnly();
    synchronized (this) {
      here.computeIfAbsent(address, none -> new LinkedHashSet<>()).add(consumer.seq());
      if (!known) {
        refused = refuses(address);
      }
      if (!known && refused == null) {
        shared.computeIfAbsent(address, none -> new LinkedHashSet<>()).add(consumer.seq());
        long with = reported.added().contains(address) ? number : number + 1;
        known = with <= confirmed;
        if (!known) {
          long due = nanoClock.getAsLong() + CONFIRM_NANOS;
          unconfirmed.add(new PendingRegistration(with, due, done));
        }
      }
    }
    if (refused != null) {
      done.fail(new IllegalStateException(refused));
    } else if (known) {
      done.succeed();
    } else {
      changed.run();
    }
  }

  private @Nullable String refuses(String address) {
    if (address.length() > MAX_ADDRESS_CHARS) {
      return "address: %d characters (expected: at most %d in a cluster)"
          .formatted(address.length(), MAX_ADDRESS_CHARS);
    }
    return shared.size() < MAX_ADDRESSES || shared.containsKey(address)
        ? null
        : "address %s: %d addresses have consumers on this node (expected: at most %2$d)"
            .formatted(address, MAX_ADDRESSES);
  }

  @Override
  public void remove(String address, RegistrationInfo consumer, Completable<Void> done) {
    boolean last;
    synchronized (this) {
      removeFrom(here, address, consumer.seq());
      last = removeFrom(shared, address, consumer.seq());
    }
    if (last) {
      changed.run();
    }
    done.succeed();
  }

  /** Returns whether the last consumer of the address was removed. */
  private static boolean removeFrom(Map<String, Set<Long>> all, String address, long consumer) {
    Set<Long> of = all.get(address);
    return of != null && of.remove(consumer) && of.isEmpty() && all.remove(address) != null;
  }

  /** Returns whether this node has a consumer of the address. */
  boolean isHere(String address) {
    return here.containsKey(address);
  }

  /** Returns the other nodes that have consumers of the address. */
  List<String> elsewhere(String address) {
    return elsewhere.getOrDefault(address, List.of());
  }

  // --- reports to the controller; confined to the control loop ---

  /** Returns all own addresses, for a controller that has connected. */
  public synchronized AddressChange inventory() {
    reported = new AddressChange(node, ++number, true, List.copyOf(shared.keySet()), List.of());
    return reported;
  }

  /** Returns the changes since the last report; empty for none. */
  public synchronized List<AddressChange> changes() {
    AddressChange before = reported;
    return shared.keySet().equals(Set.copyOf(before.added()))
        ? List.of()
        : List.of(inventory().since(before));
  }

  /** Fails the registrations whose confirmation is overdue. */
  public void expire() {
    long now = nanoClock.getAsLong();
    List<PendingRegistration> late = take(each -> each.dueNanos - now <= 0);
    late.forEach(
        each ->
            each.done.fail(
                new IllegalStateException(
                    "registration: not confirmed by a controller within 10 s (it will be reported"
                        + " to the next one)")));
  }

  /** Returns whether a registration waits for its confirmation. */
  public synchronized boolean hasUnconfirmed() {
    return !unconfirmed.isEmpty();
  }

  private synchronized List<PendingRegistration> take(Predicate<PendingRegistration> which) {
    List<PendingRegistration> taken = new ArrayList<>();
    for (Iterator<PendingRegistration> all = unconfirmed.iterator(); all.hasNext(); ) {
      PendingRegistration each = all.next();
      if (which.test(each)) {
        all.remove();
        taken.add(each);
      }
    }
    return taken;
  }

  // --- publications of the controller ---

  /** Applies changes that the controller published. */
  public void apply(List<AddressChange> published) {
    synchronized (this) {
      published.forEach(this::apply);
    }
    take(each -> each.number <= confirmed).forEach(each -> each.done.succeed());
  }

  private void apply(AddressChange change) {
    if (change.node().equals(node)) {
      confirmed = Math.max(confirmed, change.number());
      return;
    }
    Set<String> of = others.computeIfAbsent(change.node(), none -> new LinkedHashSet<>());
    Set<String> added = Set.copyOf(change.added());
    for (String address : change.whole() ? List.copyOf(of) : change.removed()) {
      if (!added.contains(address) && of.remove(address)) {
        elsewhere.computeIfPresent(address, (same, nodes) -> without(nodes, change.node()));
      }
    }
    for (String address : added) {
      if (of.add(address)) {
        elsewhere.merge(address, List.of(change.node()), ApplicationAddresses::joined);
      }
    }
    if (of.isEmpty()) {
      others.remove(change.node());
    }
  }

  private static @Nullable List<String> without(List<String> nodes, String node) {
    List<String> rest = nodes.stream().filter(each -> !each.equals(node)).toList();
    return rest.isEmpty() ? null : rest;
  }

  private static List<String> joined(List<String> some, List<String> more) {
    List<String> all = new ArrayList<>(some);
    all.addAll(more);
    return List.copyOf(all);
  }

  /** Removes the addresses of a node that is lost or has left. */
  public synchronized void removeNode(String removed) {
    apply(AddressChange.none(removed));
  }

  /** Returns the number of a node's addresses, as this node knows them. */
  public synchronized int count(String of) {
    return of.equals(node) ? shared.size() : others.getOrDefault(of, Set.of()).size();
  }
}

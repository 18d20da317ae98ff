package dev.berth.cluster.bus;

import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.NodeInfo.BusEndpoint;
import io.vertx.core.spi.cluster.NodeInfo;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The other processes with an event bus, by their bus names. Thread-safe. */
public final class BusPeers {
  private static final Pattern OF_NODE =
      Pattern.compile("berth\\.(?:routing|router|replica|bus)\\.([^.]+)(?:\\.[0-9]+)?");

  /**
   * A process with an event bus.
   *
   * @param info its address, for Vert.x
   */
  private record BusPeer(Member member, NodeInfo info) {}

  private final Map<String, BusPeer> peers = new ConcurrentHashMap<>();
  private final Map<String, String> found = new ConcurrentHashMap<>(); // address to peer, by Vert.x
  private volatile Consumer<String> outdated = address -> {};

  BusPeers() {}

  // --- members ---

  /**
   * Adds a member of the cluster, unless it has no event bus. Another registration of the process
   * replaces the earlier one.
   */
  public void add(Member member) {
    String name = member.node().busName();
    BusPeer before = peers.get(name);
    if (before != null && before.member.registration() == member.registration()) {
      return;
    }
    remove(name);
    BusEndpoint bus = member.node().bus();
    if (bus != null) {
      NodeInfo info = new NodeInfo(member.node().host(), bus.port(), null);
      peers.put(name, new BusPeer(member, info));
    }
  }

  /** Removes a process. From now on, messages to it are refused and nothing connects to it. */
  public void remove(String name) {
    peers.remove(name);
    found.entrySet().stream()
        .filter(each -> each.getValue().equals(name))
        .forEach(each -> forget(each.getKey()));
  }

  /** Returns a member with an event bus; null for another name. */
  public @Nullable Member member(String name) {
    BusPeer peer = peers.get(name);
    return peer == null ? null : peer.member;
  }

  private void forget(String address) {
    found.remove(address);
    outdated.accept(address);
  }

  // --- for Vert.x ---

  /** Sets the consumer of each address whose peer is no longer the found one. */
  void onOutdated(Consumer<String> listener) {
    outdated = listener;
  }

  /** Returns the peer that receives an address of Berth; null for none, or this process. */
  @Nullable String find(String address) {
    String name = nodeOf(address);
    if (name == null || !peers.containsKey(name)) {
      return null;
    }
    found.put(address, name);
    if (peers.containsKey(name)) {
      return name;
    }
    found.remove(address, name); // a concurrent removal may have missed it
    return null;
  }

  /** Returns the process in an address of Berth; null for another address. */
  private static @Nullable String nodeOf(String address) {
    Matcher parts = OF_NODE.matcher(address);
    return parts.matches() ? parts.group(1) : null;
  }

  @Nullable NodeInfo info(String name) {
    BusPeer peer = peers.get(name);
    return peer == null ? null : peer.info;
  }

  Stream<String> names() {
    return peers.keySet().stream();
  }
}

package dev.berth.cluster.bus;

import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.wire.BusMessageCodec;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.spi.cluster.NodeInfo;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The other processes whose event bus may be reached, by their bus names. Any thread.
 *
 * <p>Vert.x queues without a bound for a peer that does not read, and its connection cannot be
 * closed: so what is under way to each is counted here, from the send until the socket has taken
 * it, and what is too much is not sent.
 */
public final class BusPeers {
  /** Bytes of messages that may be under way to one peer. */
  public static final int MAX_BYTES_PER_PEER = 1024 * 1024;

  private static final Pattern OF_NODE =
      Pattern.compile("berth\\.(?:routing|router|replica)\\.([^.]+)(?:\\.[0-9]+)?");

  private static final DeliveryOptions OPTIONS =
      new DeliveryOptions().setCodecName(BusMessageCodec.NAME);

  private record Peer(NodeInfo info, AtomicInteger bytes) {}

  private final Map<String, Peer> peers = new ConcurrentHashMap<>();
  private final Map<String, String> asked = new ConcurrentHashMap<>(); // address to peer
  private final LongAdder refused = new LongAdder();
  private volatile @Nullable String controller;
  private volatile Consumer<String> outdated = address -> {};

  // --- who is there ---

  /** A process is there; its predecessor of the same node has another name. */
  public void add(String name, String host, int port) {
    peers.putIfAbsent(name, new Peer(new NodeInfo(host, port, null), new AtomicInteger()));
  }

  /** It is lost: nothing is sent to it any more, and nobody dials it. */
  public void remove(String name) {
    peers.remove(name);
    asked.entrySet().stream()
        .filter(each -> each.getValue().equals(name))
        .forEach(each -> forget(each.getKey()));
  }

  /** Where the controller is: a peer, or the own process; null when that is not known. */
  public void controller(@Nullable String name) {
    controller = name;
    forget(BusAddresses.CONTROLLER);
  }

  private void forget(String address) {
    asked.remove(address);
    outdated.accept(address);
  }

  // --- what the bus asks ---

  /** Who is told of an address whose peer is no longer that which was found. */
  void onOutdated(Consumer<String> listener) {
    outdated = listener;
  }

  /** The peer that receives an address; null when none does. */
  @Nullable String find(String address) {
    String name = BusAddresses.CONTROLLER.equals(address) ? controller : nodeOf(address);
    if (name == null || !peers.containsKey(name)) {
      return null;
    }
    asked.put(address, name);
    return peers.containsKey(name) ? name : null; // who removed it may not have seen the address
  }

  /** The process that an address of ours is on; null for every other address. */
  private static @Nullable String nodeOf(String address) {
    Matcher parts = OF_NODE.matcher(address);
    return parts.matches() ? parts.group(1) : null;
  }

  @Nullable NodeInfo info(String name) {
    Peer peer = peers.get(name);
    return peer == null ? null : peer.info;
  }

  Stream<String> names() {
    return peers.keySet().stream();
  }

  // --- what is sent ---

  /**
   * Sends a message to a peer.
   *
   * @return false when it is not sent: the peer is not there, or too much is under way to it
   */
  public boolean send(EventBus bus, String name, String address, BusMessage message) {
    Peer peer = peers.get(name);
    if (peer == null) {
      return false;
    }
    Buffer form = Buffer.buffer();
    WireCodec.encode(message, form);
    int bytes = form.length();
    if (peer.bytes.addAndGet(bytes) > MAX_BYTES_PER_PEER) {
      peer.bytes.addAndGet(-bytes);
      refused.increment();
      return false;
    }
    bus.<BusMessage>sender(address, OPTIONS)
        .write(message)
        .onComplete(taken -> peer.bytes.addAndGet(-bytes));
    return true;
  }

  /** Messages that were not sent since too much was under way. */
  public long refused() {
    return refused.sum();
  }
}

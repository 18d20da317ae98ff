package dev.berth.cluster.bus;

import dev.berth.config.ClusterConfig;
import dev.berth.protocol.BusAddresses;
import io.vertx.core.Completable;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.shareddata.AsyncMap;
import io.vertx.core.shareddata.Counter;
import io.vertx.core.shareddata.Lock;
import io.vertx.core.spi.cluster.ClusterManager;
import io.vertx.core.spi.cluster.NodeInfo;
import io.vertx.core.spi.cluster.NodeListener;
import io.vertx.core.spi.cluster.RegistrationInfo;
import io.vertx.core.spi.cluster.RegistrationListener;
import io.vertx.core.spi.cluster.RegistrationUpdateEvent;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Cluster of the event bus, for Vert.x. {@link BusPeers} supplies the nodes. The receiver of an
 * address of Berth is part of the address; registrations of such addresses have no effect. Other
 * registrations go to {@link BusRegistrations}. Nodes share no maps, locks or counters: these fail.
 * Thread-safe.
 */
public final class BusCluster implements ClusterManager {
  public final BusPeers peers;

  /** Milliseconds until a connection opens whose first writer blocks its loop. */
  private static final long BLOCKED_MS = 1_000;

  private final String name;
  private final BusRegistrations registrations;
  private @Nullable Vertx vertx; // set before any registration
  private volatile @Nullable NodeInfo own; // set while the bus listens
  private volatile @Nullable ContextInternal home;
  private volatile Consumer<String> connecting = peer -> {};

  /**
   * Creates the cluster of one process.
   *
   * @param name bus name of the process
   * @param registrations registrations of the applications' consumers
   */
  public BusCluster(String name, BusRegistrations registrations) {
    this.name = name;
    this.registrations = registrations;
    this.peers = new BusPeers();
  }

  /** Returns the TCP port of the bus, which must listen. */
  public int port() {
    return getNodeInfo().port();
  }

  /** Creates the cluster of one process by its configuration. */
  public static BusCluster of(ClusterConfig config, String name, LongSupplier nanoClock) {
    return new BusCluster(
        name,
        config.eventBus() ? new ApplicationAddresses(name, nanoClock) : new BusRegistrations());
  }

  /** Returns the addresses of the applications; null if their consumers receive no other node's. */
  public @Nullable ApplicationAddresses applications() {
    return registrations instanceof ApplicationAddresses shared ? shared : null;
  }

  // --- nodes ---

  @Override
  public void init(Vertx made) {
    vertx = made;
  }

  @Override
  public String getNodeId() {
    return name;
  }

  @Override
  public List<String> getNodes() {
    return Stream.concat(Stream.of(name), peers.names()).toList();
  }

  @Override
  public void setNodeInfo(NodeInfo info, Completable<Void> done) {
    own = info;
    done.succeed();
  }

  @Override
  public NodeInfo getNodeInfo() {
    return Objects.requireNonNull(own, "event bus: not started (expected: a started one)");
  }

  /** Finds the address of a node. Vert.x calls it to connect, and connects where it completes. */
  @Override
  public void getNodeInfo(String node, Completable<NodeInfo> found) {
    connecting.accept(node);
    ContextInternal opens = home;
    if (opens == null) {
      find(node, found);
    } else {
      AtomicBoolean unfound = new AtomicBoolean(true);
      Handler<Object> find =
          here -> {
            if (unfound.getAndSet(false)) {
              find(node, found);
            }
          };
      // after the caller's task, which else may listen too late, and would then connect itself
      opens.owner().getOrCreateContext().runOnContext(after -> opens.runOnContext(find::handle));
      opens.setTimer(BLOCKED_MS, find::handle);
    }
  }

  private void find(String node, Completable<NodeInfo> found) {
    NodeInfo info = node.equals(name) ? own : peers.info(node);
    found.complete(
        info,
        info == null ? new IllegalStateException(node + ": unknown (expected: a member)") : null);
  }

  /**
   * Opens all further connections on one loop. Without it, each connection would belong to the loop
   * of its first writer, and user code that blocks this loop would delay all messages to the peer.
   */
  public void connectOn(ContextInternal loop) {
    home = loop;
  }

  /** Sets the consumer of peers, called before Vert.x connects to each. */
  void onConnecting(Consumer<String> listener) {
    connecting = listener;
  }

  /** Does nothing, because Vert.x listens only for the fail-over of verticles. */
  @Override
  public void nodeListener(NodeListener listener) {}

  @Override
  public void join(Completable<Void> done) {
    done.succeed();
  }

  @Override
  public void leave(Completable<Void> done) {
    own = null;
    done.succeed();
  }

  @Override
  public boolean isActive() {
    return own != null;
  }

  // --- receivers of an address ---

  @Override
  public void registrationListener(RegistrationListener listener) {
    peers.onOutdated(
        address -> listener.registrationsUpdated(new RegistrationUpdateEvent(address, List.of())));
    registrations.listen(listener);
  }

  @Override
  public void addRegistration(String address, RegistrationInfo info, Completable<Void> done) {
    if (BusAddresses.isReserved(address)) {
      EventBus bus = Objects.requireNonNull(vertx).eventBus();
      ReservedAddresses.removeForeign(ReservedAddresses.consumers(bus), address);
      done.succeed();
    } else {
      registrations.add(address, info, done);
    }
  }

  @Override
  public void removeRegistration(String address, RegistrationInfo info, Completable<Void> done) {
    if (BusAddresses.isReserved(address)) {
      done.succeed();
    } else {
      registrations.remove(address, info, done);
    }
  }

  /** Finds no node for an address of this process: Vert.x then calls the consumers here. */
  @Override
  public void getRegistrations(String address, Completable<List<RegistrationInfo>> found) {
    if (BusAddresses.isReserved(address)) {
      String peer = peers.find(address);
      found.succeed(peer == null ? List.of() : List.of(new RegistrationInfo(peer, 0, false)));
    } else {
      found.succeed(registrations.find(address));
    }
  }

  // --- shared data ---

  private static UnsupportedOperationException notShared(String what) {
    return new UnsupportedOperationException(
        what
            + ": nodes share no maps, locks or counters (expected: vertx.sharedData().getLocal…"
            + " for one node's, or a store outside for all)");
  }

  @Override
  public <K, V> void getAsyncMap(String map, Completable<AsyncMap<K, V>> made) {
    made.fail(notShared("map " + map));
  }

  @Override
  public <K, V> Map<K, V> getSyncMap(String map) {
    throw notShared("map " + map);
  }

  @Override
  public void getLockWithTimeout(String lock, long timeout, Completable<Lock> made) {
    made.fail(notShared("lock " + lock));
  }

  @Override
  public void getCounter(String counter, Completable<Counter> made) {
    made.fail(notShared("counter " + counter));
  }
}

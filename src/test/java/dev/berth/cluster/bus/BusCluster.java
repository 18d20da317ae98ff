package dev.berth.cluster.bus;

import io.vertx.core.Completable;
import io.vertx.core.Vertx;
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
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What Vert.x asks of a cluster, answered out of {@link BusPeers}. An address that names a peer is
 * received there, every other one here: so what a handler consumes is its own node's. Nothing is
 * kept of who consumes what, and nothing is shared: maps, locks and counters fail. Any thread.
 */
public final class BusCluster implements ClusterManager {
  private final String name;
  private final BusPeers peers;
  private volatile @Nullable NodeInfo own; // while it is there

  /**
   * @param name of this process on the bus: the node's, and something of the process
   */
  public BusCluster(String name, BusPeers peers) {
    this.name = name;
    this.peers = peers;
  }

  // --- who is there ---

  @Override
  public void init(Vertx vertx) {}

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
    return Objects.requireNonNull(own);
  }

  @Override
  public void getNodeInfo(String node, Completable<NodeInfo> found) {
    NodeInfo info = node.equals(name) ? own : peers.info(node);
    found.complete(info, info == null ? new IllegalStateException(node + " is not there") : null);
  }

  /** Only the fail-over of verticles listens, which Berth does not use. */
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

  // --- who receives an address ---

  @Override
  public void registrationListener(RegistrationListener listener) {
    peers.onOutdated(
        address -> listener.registrationsUpdated(new RegistrationUpdateEvent(address, List.of())));
  }

  @Override
  public void addRegistration(String address, RegistrationInfo info, Completable<Void> done) {
    done.succeed();
  }

  @Override
  public void removeRegistration(String address, RegistrationInfo info, Completable<Void> done) {
    done.succeed();
  }

  /** None for an address of this process: the bus then looks among its own consumers. */
  @Override
  public void getRegistrations(String address, Completable<List<RegistrationInfo>> found) {
    String peer = peers.find(address);
    found.succeed(peer == null ? List.of() : List.of(new RegistrationInfo(peer, 0, false)));
  }

  // --- what is not shared ---

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

import io.vertx.core.Completable;
import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.shareddata.AsyncMap;
import io.vertx.core.shareddata.Counter;
import io.vertx.core.shareddata.Lock;
import io.vertx.core.spi.cluster.ClusterManager;
import io.vertx.core.spi.cluster.NodeInfo;
import io.vertx.core.spi.cluster.NodeListener;
import io.vertx.core.spi.cluster.RegistrationInfo;
import io.vertx.core.spi.cluster.RegistrationListener;
import java.util.List;
import java.util.Map;

/**
 * The least that makes a clustered event bus of nodes on the loopback: a node is named by its port,
 * and an address by its node, so that nothing has to be told to anybody.
 */
final class NamedNodes implements ClusterManager {
  private final String node;
  private NodeInfo info;

  NamedNodes(int port) {
    node = "" + port;
  }

  static int port(Vertx vertx) {
    return Integer.parseInt(((VertxInternal) vertx).clusterManager().getNodeId());
  }

  static String address(int port) {
    return "node." + port;
  }

  @Override
  public void getRegistrations(String address, Completable<List<RegistrationInfo>> done) {
    String name = address.substring(address.indexOf('.') + 1);
    done.succeed(List.of(new RegistrationInfo(name, 0, false)));
  }

  @Override
  public String getNodeId() {
    return node;
  }

  @Override
  public NodeInfo getNodeInfo() {
    return info;
  }

  @Override
  public void setNodeInfo(NodeInfo own, Completable<Void> done) {
    info = own;
    done.succeed();
  }

  @Override
  public void getNodeInfo(String name, Completable<NodeInfo> done) {
    done.succeed(new NodeInfo("127.0.0.1", Integer.parseInt(name), null));
  }

  @Override
  public List<String> getNodes() {
    return List.of(node);
  }

  @Override
  public boolean isActive() {
    return true;
  }

  @Override
  public void addRegistration(String address, RegistrationInfo own, Completable<Void> done) {
    done.succeed();
  }

  @Override
  public void removeRegistration(String address, RegistrationInfo own, Completable<Void> done) {
    done.succeed();
  }

  @Override
  public void join(Completable<Void> done) {
    done.succeed();
  }

  @Override
  public void leave(Completable<Void> done) {
    done.succeed();
  }

  @Override
  public void init(Vertx vertx) {}

  @Override
  public void nodeListener(NodeListener listener) {}

  @Override
  public void registrationListener(RegistrationListener listener) {}

  @Override
  public <K, V> void getAsyncMap(String name, Completable<AsyncMap<K, V>> done) {
    throw new UnsupportedOperationException();
  }

  @Override
  public <K, V> Map<K, V> getSyncMap(String name) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void getLockWithTimeout(String name, long timeout, Completable<Lock> done) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void getCounter(String name, Completable<Counter> done) {
    throw new UnsupportedOperationException();
  }
}

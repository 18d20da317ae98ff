package dev.berth.cluster.data;

import static dev.berth.cluster.link.LinkWorld.await;
import static dev.berth.cluster.link.LinkWorld.on;

import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.cluster.membership.NodeInfo.NodePorts;
import dev.berth.config.ClusterConfig;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.port.SendResult;
import io.vertx.core.internal.ContextInternal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** An instance of two loops, as far as its links go. Its clock has an offset of its own. */
public final class FakeNode implements LocalMailboxes, LinkListener {
  public static final long CAP = 8 << 20;
  private static final int LOOPS = 2;

  public final ClusterConfig config;
  public final LongSupplier clock;
  public final LinkBus bus;
  public final String busNode;
  public final AtomicLong ahead; // of the machine's clock, nanoseconds
  public final List<ContextInternal> loops;
  final Map<String, List<BusMessage>> received = new ConcurrentHashMap<>(); // by address
  public final List<String> told = new CopyOnWriteArrayList<>();
  final Map<Integer, List<BusMessage>> receivedBeforeBroken = new ConcurrentHashMap<>(); // by loop
  private @Nullable Member member;

  FakeNode(LinkWorld world, LinkTls tls, String name, Duration timeout) {
    this(List.of(world.loop(), world.loop()), tls, name, timeout);
  }

  /** On these two loops. */
  public FakeNode(List<ContextInternal> loops, LinkTls tls, String name, Duration timeout) {
    this.loops = loops;
    busNode = name + "~1";
    ahead = new AtomicLong(Duration.ofHours(name.hashCode() % 100).toNanos());
    config = config(name, Duration.ofMillis(50), timeout);
    clock = () -> System.nanoTime() + ahead.get();
    bus = new LinkBus(config, busNode, loops, tls, this, this, clock);
    for (int loop = 0; loop < LOOPS; loop++) {
      received.put(BusAddresses.router(busNode, loop), new CopyOnWriteArrayList<>());
      received.put(BusAddresses.replica(busNode, loop), new CopyOnWriteArrayList<>());
    }
  }

  /** Of a worker; what its links do not look at is as it may be. */
  public static ClusterConfig config(String name, Duration interval, Duration timeout) {
    return config(name, null, interval, timeout);
  }

  /** Returns the settings of a worker with these certificates, and an event bus on any port. */
  public static ClusterConfig config(
      String name, ClusterConfig.@Nullable ClusterTls tls, Duration interval, Duration timeout) {
    return new ClusterConfig(
        "prod",
        name,
        null,
        Map.of(),
        ClusterConfig.ClusterRole.WORKER,
        List.of(),
        List.of(),
        "127.0.0.1",
        "127.0.0.1",
        new ClusterConfig.ClusterPorts(0, 0, 0, 0, 0),
        tls,
        interval,
        timeout,
        CAP,
        true,
        false,
        0);
  }

  public FakeNode start(long registration) throws Exception {
    return start(registration, 0);
  }

  FakeNode start(long registration, int port) throws Exception {
    member = member(busNode, await(bus.start("127.0.0.1", port)), registration);
    bus.register(new LocalRegistration("cluster-1", registration));
    return this;
  }

  /** A worker on this machine. */
  public static Member member(String busNode, int port, long registration) {
    return member(busNode, port, 0, registration);
  }

  /** A worker on this machine, with an event bus unless its port is 0. */
  public static Member member(String busNode, int port, int bus, long registration) {
    String[] parts = busNode.split("~");
    NodePorts ports = new NodePorts(port, 0, 0, List.of());
    return new Member(
        new NodeInfo(
            parts[0],
            parts[1],
            false,
            null,
            Map.of(),
            "127.0.0.1",
            ports,
            bus == 0 ? null : new NodeInfo.BusEndpoint(bus, registration)),
        registration,
        Member.MemberState.ALIVE);
  }

  public int port() {
    return member.node().ports().data();
  }

  static void acquaint(FakeNode... nodes) {
    for (FakeNode one : nodes) {
      for (FakeNode other : nodes) {
        one.bus.add(other.member);
      }
    }
  }

  public List<BusMessage> routers(int loop) {
    return received.get(BusAddresses.router(busNode, loop));
  }

  /** From a loop of its own to a router loop. */
  boolean send(int from, FakeNode to, int loop, BusMessage message) throws Exception {
    return result(from, to, loop, message).isSent();
  }

  SendResult result(int from, FakeNode to, int loop, BusMessage message) throws Exception {
    return on(
        loops.get(from),
        () -> bus.send(to.busNode, BusAddresses.router(to.busNode, loop), message));
  }

  boolean send(FakeNode to, long id) throws Exception {
    return send(0, to, 0, new CallAccepted(id, 0));
  }

  /** Its loops do nothing more until the latch opens. */
  public CountDownLatch stop() {
    CountDownLatch until = new CountDownLatch(1);
    for (ContextInternal loop : loops) {
      loop.runOnContext(
          none -> {
            try {
              until.await();
            } catch (InterruptedException ended) {
              Thread.currentThread().interrupt();
            }
          });
    }
    return until;
  }

  /** Messages sent over links. */
  public long sentOverLinks() {
    return bus.counters.framesSent.sum();
  }

  long inFlight(FakeNode to) {
    return inFlight(to.busNode);
  }

  long inFlight(String to) {
    return bus.peers.get(to).inFlight().inUse();
  }

  // --- what the links ask ---

  @Override
  public void deliver(String address, Consumer<Consumer<BusMessage>> task) {
    List<BusMessage> into = received.get(address);
    if (into != null) {
      loops.get(BusAddresses.loop(address)).runOnContext(none -> task.accept(into::add));
    }
  }

  @Override
  public void broken(String to, int loop) {
    told.add("broken " + to + " " + loop);
    loops
        .get(loop)
        .runOnContext(none -> receivedBeforeBroken.putIfAbsent(loop, List.copyOf(routers(loop))));
  }

  @Override
  public void leaving(String to) {
    told.add("leaving " + to);
  }

  @Override
  public void suspected(String to) {
    told.add("suspected " + to);
  }
}

package dev.berth.node;

import static java.util.stream.Collectors.toSet;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.AdminVerticle;
import dev.berth.cluster.bus.BusCluster;
import dev.berth.cluster.bus.NodeBus;
import dev.berth.cluster.control.Connector;
import dev.berth.cluster.control.ControlClient;
import dev.berth.cluster.control.ControlLoops;
import dev.berth.cluster.data.LinkBus;
import dev.berth.cluster.data.LinkListener;
import dev.berth.cluster.data.LocalRegistration;
import dev.berth.cluster.http.FanOutRoutes;
import dev.berth.cluster.http.PeerClient;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.Member.MemberState;
import dev.berth.cluster.membership.MemberList;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.cluster.membership.NodeInfo.BusEndpoint;
import dev.berth.cluster.membership.NodeInfo.NodePorts;
import dev.berth.config.AdminOptions;
import dev.berth.config.ClusterConfig;
import dev.berth.config.ClusterConfig.ControlNodeAddress;
import dev.berth.config.HttpOptions;
import dev.berth.config.ServeConfig;
import dev.berth.metrics.Meters;
import dev.berth.metrics.MetricSeries;
import dev.berth.node.loops.EventLoops;
import dev.berth.node.loops.Identity;
import dev.berth.node.loops.InstanceBus;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.protocol.port.BusSender;
import dev.berth.routing.reserve.ReservationOwners;
import dev.berth.view.ClusterDetails;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Cluster part of a node in any role: its data links, its end of the control link, and its view of
 * the other nodes. Confined to the control loop, unless a method states otherwise.
 */
final class ClusterMembershipClient implements LinkListener {
  /** Pause before routers retry a node that was unreachable from here. */
  private static final Duration PASSED_OVER = Duration.ofSeconds(5);

  /** Interval of the checks for changed certificate files. */
  private static final Duration LOOK_INTERVAL = Duration.ofSeconds(5);

  /** Message in place of an event: no replica runs on the node any more. */
  static final JsonObject EMPTIED = new JsonObject().put("emptied", true);

  /** Maximum wait for a controller, or for the commit that the node left. */
  private static final Duration GOODBYE_WAIT = Duration.ofSeconds(3);

  private static final Duration DRAIN_LOOK = Duration.ofMillis(100);

  final ClusterConfig config;
  private final Identity identity;
  private final LoopVerticle control;
  private final List<ContextInternal> serving;
  private final LinkTls tls;
  final ControlLoops controlLoops; // loops of the control links
  final PeerClient peers; // HTTPS client of other nodes
  final LinkBus links;
  final @Nullable BusCluster bus; // null: the event bus does not reach other nodes
  private final @Nullable NodeBus messages; // Berth's own messages on that bus
  private final long busSecret;
  final AddressReporter addresses;
  private volatile String ownMark = ""; // node part of tokens; empty until registration
  volatile MemberList members = MemberList.NONE; // written by the control loop
  private final Map<String, Long> unreachable = new ConcurrentHashMap<>(); // timer ids by bus name
  private final Set<String> leaving = new HashSet<>(); // bus names of nodes that announced a leave
  private @Nullable DataPlane plane; // created after the links
  volatile boolean hasController;
  private long reload = -1; // timer id of the certificate checks
  private @Nullable NodeInfo self; // set once the node listens
  private @Nullable ControlClient client; // set once the node joins
  private Future<Void> left = Future.succeededFuture(); // completes when the leave is committed

  ClusterMembershipClient(
      ClusterIdentity terms, Identity identity, EventLoops loops, InstanceBus mailboxes) {
    this.config = terms.config();
    this.identity = identity;
    this.control = loops.control();
    this.tls = terms.tls();
    this.controlLoops =
        new ControlLoops(
            Objects.requireNonNull(loops.links()).home(),
            control,
            tls,
            tls.dialer(control.home().owner()),
            identity.nanoClock());
    this.peers = new PeerClient(control.home().owner(), tls, config.name());
    tls.renewClient(peers::update);
    this.bus = terms.bus();
    this.serving = loops.serving().stream().map(LoopVerticle::home).toList();
    this.addresses =
        new AddressReporter(bus == null ? null : bus.applications(), control, () -> client);
    this.links =
        new LinkBus(
            config, identity.node(), serving, terms.tls(), mailboxes, this, identity.nanoClock());
    this.busSecret = bus == null ? 0 : identity.chance().nextLong();
    this.messages = bus == null ? null : messages(bus);
  }

  private NodeBus messages(BusCluster bus) {
    VertxInternal vertx = control.home().owner();
    ContextInternal home = EventLoops.ofBus(vertx);
    bus.connectOn(home);
    NodeBus made =
        new NodeBus(
            config,
            identity.node(),
            busSecret,
            vertx.eventBus(),
            home,
            links,
            this,
            identity.nanoClock());
    if (config.busMessages()) {
      links.refuseOver(made);
    }
    return made;
  }

  /** Returns the sender of messages to other nodes, by the setting of this node. */
  BusSender between() {
    return messages != null && config.busMessages() ? messages : links;
  }

  /** Sets the data plane, which is created after the links. */
  void carries(DataPlane made) {
    plane = made;
  }

  private DataPlane plane() {
    return Objects.requireNonNull(plane, "plane: null (expected: made)");
  }

  /**
   * Starts to accept data links.
   *
   * @param https port of the admin server for other nodes
   * @param instance its ports for clients and operators
   */
  Future<Void> listen(int https, ServeConfig instance) {
    if (config.tls() != null && config.tls().reload()) {
      Vertx vertx = control.home().owner();
      reload = vertx.setPeriodic(LOOK_INTERVAL.toMillis(), look -> tls.reload(vertx));
    }
    Future<Void> bused = messages == null ? Future.succeededFuture() : messages.start(serving);
    return bused
        .compose(started -> links.start(config.bind(), config.ports().data()))
        .onSuccess(
            data ->
                self =
                    new NodeInfo(
                        config.node(),
                        process(),
                        config.role() == ClusterConfig.ClusterRole.CONTROL,
                        config.zone(),
                        config.labels(),
                        config.advertise(),
                        ports(data, https, instance),
                        bus == null ? null : new BusEndpoint(bus.port(), busSecret)))
        .mapEmpty();
  }

  private NodePorts ports(int data, int https, ServeConfig instance) {
    List<Integer> others = new ArrayList<>(config.ports().all());
    others.add(instance.get(AdminOptions.PORT));
    return new NodePorts(data, https, instance.get(HttpOptions.PORT), others);
  }

  /** Returns the process id of this start: the part of the bus name after the node name. */
  String process() {
    return identity.node().substring(config.node().length() + 1);
  }

  // --- the control link ---

  Set<String> controlNodes() {
    return config.control().stream().map(ControlNodeAddress::name).collect(toSet());
  }

  /**
   * Connects this node, which listens already, to its controller.
   *
   * @param to connector to the controller
   */
  ControlClient join(Connector to, ControlClient.ControlClientListener listener) {
    ControlClient made =
        new ControlClient(
            controlLoops,
            new ControlClient.ControlClientSettings(
                config.name(),
                Objects.requireNonNull(self),
                controlNodes(),
                config.interval(),
                config.timeout()),
            to,
            identity.seeded(),
            listener);
    client = made;
    made.start();
    return made;
  }

  /** Begins to leave the cluster. Other nodes, if any, send no new requests here from now on. */
  void leave() {
    if (client != null) {
      left = client.leave();
      links.leave(); // notifies senders, with or without a controller
      if (messages != null) {
        messages.leave();
      }
    }
  }

  /**
   * Drains the replicas, once no request of this node is in flight. Other nodes may use the
   * replicas until replacements run elsewhere, or until the longest grace has passed.
   *
   * @return completes when the node may exit
   */
  Future<Void> drainAndLeave(InstanceRuntime host) {
    ControlClient joined = client;
    if (joined == null) {
      return left;
    }
    Future<Void> emptied = host.replicas.emptied();
    drain(host, emptied, host.deployments.longestGrace());
    return emptied.compose(
        empty -> {
          joined.event(EMPTIED.toBuffer());
          return left.timeout(GOODBYE_WAIT.toMillis(), TimeUnit.MILLISECONDS).otherwiseEmpty();
        });
  }

  /**
   * Stops all replicas after {@code grace}. A worker without a controller gets no replacements and
   * waits at most {@code GOODBYE_WAIT}.
   */
  private void drain(InstanceRuntime host, Future<Void> emptied, Duration grace) {
    boolean led = config.role() == ClusterConfig.ClusterRole.CONTROL || hasController;
    Duration rest = led || grace.compareTo(GOODBYE_WAIT) <= 0 ? grace : GOODBYE_WAIT;
    if (isAlone() || rest.isNegative()) {
      host.replicas.stopAll();
    } else if (!emptied.isComplete()) {
      Duration next = rest.minus(DRAIN_LOOK);
      control.home().setTimer(DRAIN_LOOK.toMillis(), passed -> drain(host, emptied, next));
    }
  }

  /** Returns whether all other nodes that this node knows are leaving. */
  private boolean isAlone() {
    return members.list().stream()
        .filter(each -> each.state() != MemberState.LEAVING)
        .allMatch(each -> each.node().busName().equals(identity.node()));
  }

  // --- members ---

  /** Handles the welcome: this process is a registered node now. */
  void welcomed(Welcome welcome) {
    hasController = true;
    plane().routers.controlled(true);
    ownMark = mark(config.node(), welcome.registration());
    LocalRegistration own =
        new LocalRegistration(welcome.authority().clusterId(), welcome.registration());
    links.register(own);
    if (messages != null) {
      messages.register(own);
    }
  }

  /** Handles the loss of the controller, which lasts until the next welcome. */
  void noController() {
    hasController = false;
    plane().routers.controlled(false);
  }

  /** Applies a member list of the controller, if it is newer than the known list. */
  void members(MemberList newer) {
    if (!newer.isAfter(members)) {
      return;
    }
    Set<String> gone = new HashSet<>();
    members.list().forEach(each -> gone.add(each.node().busName()));
    members = newer;
    for (Member each : newer.list()) {
      String name = each.node().busName();
      gone.remove(name);
      if (!name.equals(identity.node())) {
        if (bus != null && messages != null) {
          bus.peers.add(each);
          messages.add(each); // before a link could carry its messages
        }
        links.add(each);
        passOver(each);
      }
    }
    gone.remove(identity.node());
    gone.forEach(this::onNodeRemoved);
  }

  private static String mark(String node, long registration) {
    return registration + "." + node;
  }

  /** Returns the mapping between nodes and their marks in tokens. Thread-safe. */
  ReservationOwners keepers() {
    return new ReservationOwners(
        () -> ownMark,
        mark ->
            members.list().stream()
                .filter(each -> mark(each.node().name(), each.registration()).equals(mark))
                .map(each -> each.node().busName())
                .findFirst()
                .orElse(null));
  }

  private void onNodeRemoved(String name) {
    links.remove(name);
    if (bus != null && messages != null) {
      messages.remove(name);
      bus.peers.remove(name);
    }
    addresses.removeNode(name);
    leaving.remove(name);
    reachable(name);
    plane().nodeLost(name);
  }

  /**
   * Updates whether routers avoid a node. They avoid suspected, leaving and unreachable nodes while
   * other nodes remain.
   */
  private void passOver(Member member) {
    boolean passed =
        member.state() == Member.MemberState.SUSPECTED
            || member.state() == Member.MemberState.LEAVING;
    String name = member.node().busName();
    plane()
        .routers
        .suspected(name, passed || leaving.contains(name) || unreachable.containsKey(name));
  }

  // --- events of links, on the loops that own them ---

  @Override
  public void broken(String busNode, int loop) {
    plane().routers.linkBroken(busNode, loop);
  }

  @Override
  public void leaving(String busNode) {
    control.execute(
        () ->
            members.list().stream()
                .filter(each -> each.node().busName().equals(busNode))
                .forEach(
                    each -> {
                      leaving.add(busNode);
                      passOver(each);
                    }));
  }

  @Override
  public void suspected(String busNode) {
    control.execute(
        () -> {
          plane().routers.suspected(busNode, true);
          Long before =
              unreachable.put(
                  busNode,
                  control.home().setTimer(PASSED_OVER.toMillis(), passed -> reachable(busNode)));
          cancel(before);
        });
  }

  private void reachable(String name) {
    cancel(unreachable.remove(name));
    members.list().stream()
        .filter(each -> each.node().busName().equals(name))
        .forEach(this::passOver);
  }

  private void cancel(@Nullable Long timer) {
    if (timer != null) {
      control.home().owner().cancelTimer(timer);
    }
  }

  /** Returns whether no recent attempt to reach a process failed. Thread-safe. */
  boolean reaches(String busNode) {
    return !unreachable.containsKey(busNode);
  }

  /** Returns the names of nodes that were recently unreachable from here. Thread-safe. */
  Set<String> unreachable() {
    Set<String> names = new TreeSet<>();
    unreachable.keySet().forEach(each -> names.add(NodeInfo.nameOf(each)));
    return names;
  }

  /** Reports the metrics of the cluster. Thread-safe. */
  void show(MetricSeries into) {
    links.show(into);
    if (messages != null) {
      messages.show(into);
    }
    List<Member> known = members.list();
    for (MemberState state : MemberState.values()) {
      long such = known.stream().filter(each -> each.state() == state).count();
      into.with("state", state.name()).gauge("berth_nodes", such);
    }
    into.gauge("berth_nodes_unreachable", unreachable.size());
    into.gauge("berth_controller_connected", hasController ? 1 : 0);
  }

  /** Creates the admin server for other nodes, which uses HTTPS. */
  AdminVerticle peerServer(Meters meters, List<AdminRoutes> routes) {
    HttpServerOptions options =
        tls.secured(new HttpServerOptions()).setHost(config.bind()).setPort(config.ports().https());
    AdminVerticle made = AdminVerticle.ofNode(options, meters, routes);
    tls.renewServer(made::update);
    return made;
  }

  /**
   * Returns the operator routes that gather ledgers, explained requests and logs from all nodes.
   * They are mounted before the routes of this node alone.
   */
  FanOutRoutes fanOut() {
    return new FanOutRoutes(peers, this::everyPeer);
  }

  /** Returns all known nodes, this node included. */
  List<NodeInfo> everyPeer() {
    return members.list().stream().map(Member::node).toList();
  }

  /**
   * Returns a node's details for operators; null stands for a number that this node does not know.
   */
  ClusterDetails.Node shown(
      Member member,
      @Nullable Integer replicas,
      @Nullable Long silentMs,
      @Nullable Long pausedMs,
      List<String> unreachableFrom) {
    NodeInfo node = member.node();
    return new ClusterDetails.Node(
        node.name(),
        node.busName(),
        node.role().name().toLowerCase(Locale.ROOT),
        node.zone(),
        node.labels(),
        node.host(),
        node.openPorts(),
        member.state().name(),
        member.registration(),
        replicas,
        addresses.count(node.busName()),
        silentMs,
        pausedMs,
        unreachableFrom);
  }

  Future<Void> stop() {
    control.home().owner().cancelTimer(reload);
    Future<Void> ended = messages == null ? Future.succeededFuture() : messages.stop();
    return ended
        .eventually(links::stop)
        .eventually(controlLoops.dialer()::close)
        .eventually(peers::close);
  }
}

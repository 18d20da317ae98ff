package dev.berth.node;

import static java.util.stream.Collectors.toSet;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.AdminVerticle;
import dev.berth.cluster.control.Connector;
import dev.berth.cluster.control.ControlClient;
import dev.berth.cluster.control.ControlLoops;
import dev.berth.cluster.data.LinkBus;
import dev.berth.cluster.data.LinkListener;
import dev.berth.cluster.data.OwnRegistration;
import dev.berth.cluster.http.GatheredRoutes;
import dev.berth.cluster.http.PeerClient;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.Member.State;
import dev.berth.cluster.membership.Members;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.config.ClusterConfig;
import dev.berth.config.ClusterConfig.ControlNode;
import dev.berth.metrics.Meters;
import dev.berth.metrics.Series;
import dev.berth.node.loops.EventLoops;
import dev.berth.node.loops.Identity;
import dev.berth.node.loops.InstanceBus;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.routing.reserve.Keepers;
import dev.berth.view.ClusterDetails;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
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
 * The part that each node of a cluster has, whatever its role: its data links, its end of the
 * control link, and the other nodes as far as it knows them. Confined to the control loop, unless a
 * method says otherwise.
 */
final class ClusterSide implements LinkListener {
  /** So long a node that could not be reached from here is passed over, and then tried again. */
  private static final Duration PASSED_OVER = Duration.ofSeconds(5);

  /** How often the files of certificates are looked at. */
  private static final Duration LOOK_INTERVAL = Duration.ofSeconds(5);

  /** In place of an event: nothing runs on the node any more. */
  static final JsonObject EMPTIED = new JsonObject().put("emptied", true);

  /** Wait for a controller, or for the commit that the node left. */
  private static final Duration GOODBYE_WAIT = Duration.ofSeconds(3);

  private static final Duration DRAIN_LOOK = Duration.ofMillis(100);

  final ClusterConfig config;
  private final Identity identity;
  private final LoopVerticle control;
  private final LinkTls tls;
  final ControlLoops controlLoops; // of its control links
  final PeerClient peers; // asks other nodes by HTTPS
  final LinkBus links;
  private volatile String ownMark = ""; // in tokens; empty until it is registered
  private volatile Members members = Members.NONE; // written by the control loop
  private final Map<String, Long> unreachable = new ConcurrentHashMap<>(); // timers, by bus name
  private final Set<String> leaving = new HashSet<>(); // as they say themselves, by bus name
  private @Nullable DataPlane plane; // which is made after the links
  volatile boolean hasController;
  private long reload = -1; // timer
  private @Nullable NodeInfo self; // once it listens
  private @Nullable ControlClient client; // once it joins
  private Future<Void> left = Future.succeededFuture(); // is committed

  ClusterSide(ClusterTerms terms, Identity identity, EventLoops loops, InstanceBus mailboxes) {
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
    this.links =
        new LinkBus(
            config,
            identity.node(),
            loops.serving().stream().map(LoopVerticle::home).toList(),
            terms.tls(),
            mailboxes,
            this,
            identity.nanoClock());
  }

  /** What requests pass through. */
  void carries(DataPlane made) {
    plane = made;
  }

  private DataPlane plane() {
    return Objects.requireNonNull(plane, "plane: null (expected: made)");
  }

  /**
   * Takes data links from now on.
   *
   * @param https port of the admin server for other nodes
   * @param http port of clients
   */
  Future<Void> listen(int https, int http) {
    if (config.tls() != null && config.tls().reload()) {
      Vertx vertx = control.home().owner();
      reload = vertx.setPeriodic(LOOK_INTERVAL.toMillis(), look -> tls.reload(vertx));
    }
    return links
        .start(config.bind(), config.ports().data())
        .onSuccess(
            data ->
                self =
                    new NodeInfo(
                        config.node(),
                        process(),
                        config.role() == ClusterConfig.Role.CONTROL,
                        config.zone(),
                        config.labels(),
                        config.advertise(),
                        new NodeInfo.Ports(data, https, http)))
        .mapEmpty();
  }

  /** Returns the process of this start of the node: its bus name after its name. */
  String process() {
    return identity.node().substring(config.node().length() + 1);
  }

  // --- the control link ---

  Set<String> controlNodes() {
    return config.control().stream().map(ControlNode::name).collect(toSet());
  }

  /**
   * Connects this node to its controller; it listens by now.
   *
   * @param to the controller
   */
  ControlClient join(Connector to, ControlClient.Listener listener) {
    ControlClient made =
        new ControlClient(
            controlLoops,
            new ControlClient.Self(
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

  /** Begins to leave the cluster: nothing new comes here from now on, where there are others. */
  void leave() {
    if (client != null) {
      left = client.leave();
      links.leave(); // to the nodes that send here, be there a controller or not
    }
  }

  /**
   * Moves the replicas elsewhere, as no request of this node is in flight any more. Others may use
   * them until others are there, or the longest grace is over.
   *
   * @return completes when the node may go
   */
  Future<Void> left(InstanceHost host) {
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

  /** Without a controller, which would start others, the replicas stay for a shorter time. */
  private void drain(InstanceHost host, Future<Void> emptied, Duration grace) {
    boolean led = config.role() == ClusterConfig.Role.CONTROL || hasController;
    Duration rest = led || grace.compareTo(GOODBYE_WAIT) <= 0 ? grace : GOODBYE_WAIT;
    if (isAlone() || rest.isNegative()) {
      host.replicas.stopAll();
    } else if (!emptied.isComplete()) {
      Duration next = rest.minus(DRAIN_LOOK);
      control.home().setTimer(DRAIN_LOOK.toMillis(), passed -> drain(host, emptied, next));
    }
  }

  /** Returns whether no other node stays, as far as this one knows them. */
  private boolean isAlone() {
    return members.list().stream()
        .filter(each -> each.state() != State.LEAVING)
        .allMatch(each -> each.node().busName().equals(identity.node()));
  }

  // --- who is there ---

  /** This process is a node. */
  void welcomed(Welcome welcome) {
    hasController = true;
    plane().routers().controlled(true);
    ownMark = mark(config.node(), welcome.registration());
    links.register(new OwnRegistration(welcome.authority().clusterId(), welcome.registration()));
  }

  /** Nobody commands this node, until it is welcome again. */
  void noController() {
    hasController = false;
    plane().routers().controlled(false);
  }

  /** Takes what the controller says of the nodes, if it is newer. */
  void members(Members newer) {
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
        links.add(each);
        passOver(each);
      }
    }
    gone.remove(identity.node());
    gone.forEach(this::gone);
  }

  /** All that is known of them. */
  Members members() {
    return members;
  }

  private static String mark(String node, long registration) {
    return registration + "." + node;
  }

  /** How tokens name nodes. Any thread. */
  Keepers keepers() {
    return new Keepers(
        () -> ownMark,
        mark ->
            members.list().stream()
                .filter(each -> mark(each.node().name(), each.registration()).equals(mark))
                .map(each -> each.node().busName())
                .findFirst()
                .orElse(null));
  }

  private void gone(String name) {
    links.remove(name);
    leaving.remove(name);
    reachable(name);
    plane().nodeLost(name);
  }

  /** Nothing new for one that is silent or leaves, while there are others. */
  private void passOver(Member member) {
    boolean passed =
        member.state() == Member.State.SUSPECTED || member.state() == Member.State.LEAVING;
    String name = member.node().busName();
    plane()
        .routers()
        .suspected(name, passed || leaving.contains(name) || unreachable.containsKey(name));
  }

  // --- links, told of on the loops that have them ---

  @Override
  public void broken(String busNode, int loop) {
    plane().routers().linkBroken(busNode, loop);
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
          plane().routers().suspected(busNode, true);
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

  /** Returns whether a process could be reached from here of late. Thread-safe. */
  boolean reaches(String busNode) {
    return !unreachable.containsKey(busNode);
  }

  /** Names of nodes that could not be reached from here of late. Any thread. */
  Set<String> unreachable() {
    Set<String> names = new TreeSet<>();
    unreachable.keySet().forEach(each -> names.add(NodeInfo.nameOf(each)));
    return names;
  }

  /** Shows its numbers. Any thread. */
  void show(Series into) {
    links.show(into);
    List<Member> known = members.list();
    for (State state : State.values()) {
      long such = known.stream().filter(each -> each.state() == state).count();
      into.with("state", state.name()).gauge("berth_nodes", such);
    }
    into.gauge("berth_nodes_unreachable", unreachable.size());
    into.gauge("berth_controller_connected", hasController ? 1 : 0);
  }

  /** What this node answers others by HTTPS. */
  AdminVerticle peerServer(Meters meters, List<AdminRoutes> routes) {
    HttpServerOptions options =
        tls.httpServer().setHost(config.bind()).setPort(config.ports().https());
    AdminVerticle made = AdminVerticle.ofNode(options, meters, routes);
    tls.renewServer(made::update);
    return made;
  }

  /**
   * What operators are told here of all nodes, before what this one answers of itself: ledgers,
   * explained requests and logs.
   */
  List<AdminRoutes> ofAllNodes() {
    return List.of(new GatheredRoutes(peers, this::everyPeer));
  }

  /** Returns all nodes, as they are asked by HTTPS. */
  List<NodeInfo> everyPeer() {
    return members.list().stream().map(Member::node).toList();
  }

  /** Returns a node as operators see it; a null number is not known here. */
  static ClusterDetails.Node shown(
      Member member,
      @Nullable Integer replicas,
      @Nullable Long silentMs,
      @Nullable Long pausedMs,
      List<String> unreachableFrom) {
    NodeInfo node = member.node();
    NodeInfo.Ports ports = node.ports();
    return new ClusterDetails.Node(
        node.name(),
        node.busName(),
        node.role().name().toLowerCase(Locale.ROOT),
        node.zone(),
        node.labels(),
        node.host(),
        Map.of("data", ports.data(), "https", ports.https(), "http", ports.http()),
        member.state().name(),
        member.registration(),
        replicas,
        silentMs,
        pausedMs,
        unreachableFrom);
  }

  Future<Void> stop() {
    control.home().owner().cancelTimer(reload);
    return links.stop().eventually(controlLoops.dialer()::close).eventually(peers::close);
  }
}

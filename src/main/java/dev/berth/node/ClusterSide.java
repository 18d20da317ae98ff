package dev.berth.node;

import static java.util.stream.Collectors.toSet;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.AdminVerticle;
import dev.berth.cluster.control.Connector;
import dev.berth.cluster.control.ControlClient;
import dev.berth.cluster.control.ControlLoops;
import dev.berth.cluster.control.ControlServer;
import dev.berth.cluster.control.SocketConnector;
import dev.berth.cluster.data.LinkBus;
import dev.berth.cluster.data.LinkListener;
import dev.berth.cluster.data.OwnRegistration;
import dev.berth.cluster.http.CommandGate;
import dev.berth.cluster.http.GatheredRoutes;
import dev.berth.cluster.http.JarCache;
import dev.berth.cluster.http.Peer;
import dev.berth.cluster.http.PeerClient;
import dev.berth.cluster.link.LinkServer;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.Authority;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.Member.State;
import dev.berth.cluster.membership.Members;
import dev.berth.cluster.membership.MembershipRules;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.code.Jar;
import dev.berth.config.ClusterConfig;
import dev.berth.config.ClusterConfig.ControlNode;
import dev.berth.desired.ServeControl;
import dev.berth.metrics.Meters;
import dev.berth.metrics.Series;
import dev.berth.node.loops.EventLoops;
import dev.berth.node.loops.Identity;
import dev.berth.node.loops.InstanceBus;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.protocol.ClusterDetails;
import dev.berth.protocol.port.JarShelf;
import dev.berth.routing.reserve.Keepers;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.NetClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What an instance has of its cluster, whoever commands it: its place there, its links, and what it
 * knows of the others. Control loop, unless a method says otherwise.
 */
final class ClusterSide implements LinkListener {
  /** So long a node that could not be reached from here is passed over, and then tried again. */
  private static final Duration PASSED_OVER = Duration.ofSeconds(5);

  /** How often the files of certificates are looked at. */
  private static final Duration LOOK_INTERVAL = Duration.ofSeconds(5);

  private final ClusterConfig config;
  private final Identity identity;
  private final LoopVerticle control;
  private final LoopVerticle linksLoop;
  private final LinkTls tls;
  private final NetClient dialer;
  private final LinkServer controlLinks;
  final PeerClient peers; // asks other nodes by HTTPS
  final LinkBus links;
  private volatile String ownMark = ""; // in tokens; empty until it is registered
  private volatile Members members = Members.NONE; // written by the control loop
  private final Map<String, Long> unreachable = new ConcurrentHashMap<>(); // timers, by bus name
  private final Set<String> leaving = new HashSet<>(); // as they say themselves, by bus name
  private @Nullable DataPlane plane; // which is made after the links
  private @Nullable Welcome welcome; // the last one
  volatile boolean hasController; // likewise
  private long reload = -1; // timer
  private @Nullable NodeInfo self; // once it listens

  ClusterSide(ClusterTerms terms, Identity identity, EventLoops loops, InstanceBus mailboxes) {
    this.config = terms.config();
    this.identity = identity;
    this.control = loops.control();
    this.linksLoop = Objects.requireNonNull(loops.links());
    this.tls = terms.tls();
    this.dialer = tls.dialer(control.home().owner());
    this.controlLinks = new LinkServer(tls, "control links");
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

  String cluster() {
    return config.name();
  }

  /** Its name. */
  String node() {
    return config.node();
  }

  /** That it fails with; null for none. */
  @Nullable String zone() {
    return config.zone();
  }

  /** Of this start of the node: what its bus name has behind its name. */
  String process() {
    return identity.node().substring(config.node().length() + 1);
  }

  // --- the control link ---

  private ControlLoops around() {
    return new ControlLoops(linksLoop.home(), control, tls, dialer, identity.nanoClock());
  }

  private Set<String> controlNodes() {
    return config.control().stream().map(ControlNode::name).collect(toSet());
  }

  /** The controller's end, on this node. */
  ControlServer server(ServeControl serve, ControlServer.Listener listener) {
    MembershipRules rules =
        new MembershipRules(
            config.name(),
            config.node(),
            process(),
            controlNodes(),
            config.interval().toNanos(),
            config.timeout().toNanos());
    LoggedNodes nodes = new LoggedNodes(serve, control);
    return new ControlServer(around(), rules, nodes, nodes::authority, listener);
  }

  /** Takes control links. */
  Future<Void> accept(ControlServer server) {
    return controlLinks
        .listen(List.of(linksLoop.home()), config.bind(), config.ports().control(), server::accept)
        .mapEmpty();
  }

  /** To where the controller may be. */
  Connector elsewhere() {
    return new SocketConnector(linksLoop.home(), tls, dialer, config.join());
  }

  /**
   * This node's end of its control link; it listens by now.
   *
   * @param to the controller
   */
  ControlClient client(Connector to, ControlClient.Listener listener) {
    return new ControlClient(
        around(),
        new ControlClient.Self(
            config.name(),
            Objects.requireNonNull(self),
            controlNodes(),
            config.interval(),
            config.timeout()),
        to,
        identity.seeded(),
        listener);
  }

  // --- who is there ---

  /** This process is a node. */
  void welcomed(Welcome welcome) {
    this.welcome = welcome;
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

  /**
   * The cluster as this node was told of it; null while there is a controller to ask.
   *
   * @param why there is none
   */
  @Nullable ClusterDetails lastKnown(String why) {
    if (hasController) {
      return null;
    }
    Authority last = welcome == null ? new Authority("", 0, 0, 0, "") : welcome.authority();
    return new ClusterDetails(
        config.name(),
        last.clusterId(),
        last.generation(),
        last.term(),
        last.revision(),
        config.node(),
        null,
        false,
        why,
        Map.of(),
        false,
        List.of(),
        List.of(),
        members.list().stream().map(this::lastKnown).toList());
  }

  /** Who commanded is silent. */
  private ClusterDetails.Node lastKnown(Member member) {
    boolean silent = welcome != null && member.node().name().equals(welcome.controller());
    boolean reached = !unreachable.containsKey(member.node().busName());
    return OperatedCluster.shown(
        silent ? new Member(member.node(), member.registration(), State.SUSPECTED) : member,
        null,
        null,
        null,
        reached ? List.of() : List.of(config.node()));
  }

  /** Fetches a jar that this node lost from another one. */
  Future<Path> restore(JarShelf here, Jar jar) {
    List<Peer> others =
        everyPeer().stream().filter(each -> !each.name().equals(config.node())).toList();
    return JarCache.restore(control.home().owner(), peers, others, here, jar);
  }

  private List<Peer> everyPeer() {
    return members.list().stream().map(each -> peer(each.node())).toList();
  }

  private static Peer peer(NodeInfo node) {
    return new Peer(node.name(), node.busName(), node.host(), node.ports().https(), node.role());
  }

  /** The cluster and generation that this node follows, for {@link CommandGate}. */
  String authority() {
    return welcome == null
        ? "none"
        : CommandGate.name(welcome.authority().clusterId(), welcome.authority().generation());
  }

  /** How the node that the controller is on is asked by HTTPS; null while it is not known. */
  @Nullable Peer controlNode() {
    return members.list().stream()
        .map(Member::node)
        .filter(each -> welcome != null && each.name().equals(welcome.controller()))
        .map(ClusterSide::peer)
        .findFirst()
        .orElse(null);
  }

  Future<Void> stop() {
    control.home().owner().cancelTimer(reload);
    return links
        .stop()
        .eventually(controlLinks::close)
        .eventually(dialer::close)
        .eventually(peers::close);
  }
}

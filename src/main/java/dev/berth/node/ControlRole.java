package dev.berth.node;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.ClusterRoutes;
import dev.berth.cluster.control.ControlClient;
import dev.berth.cluster.control.ControlServer;
import dev.berth.cluster.control.RegistrationStore;
import dev.berth.cluster.http.CommandGate;
import dev.berth.cluster.http.JarCache;
import dev.berth.cluster.link.LinkServer;
import dev.berth.cluster.membership.ClusterEpoch;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.MemberAction.MemberLeaving;
import dev.berth.cluster.membership.MemberAction.MembershipEvent;
import dev.berth.cluster.membership.MemberAction.NodeRemoved;
import dev.berth.cluster.membership.MemberAction.PublishMembers;
import dev.berth.cluster.membership.MemberAction.RemovedAsLost;
import dev.berth.cluster.membership.MemberAction.StandBy;
import dev.berth.cluster.membership.MemberAction.SuspicionChanged;
import dev.berth.cluster.membership.MembershipRules;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.cluster.membership.NodeRegistration;
import dev.berth.code.Jar;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.CommandTo;
import dev.berth.controller.ControllerAction.GrantUpstreams;
import dev.berth.controller.ControllerAction.ProbeOwner;
import dev.berth.controller.ControllerAction.Recovered;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Inventory;
import dev.berth.controller.ControllerEvent.NodeJoined;
import dev.berth.controller.ControllerEvent.NodeLeaving;
import dev.berth.controller.ControllerEvent.NodeLeft;
import dev.berth.controller.ControllerEvent.NodeLost;
import dev.berth.controller.ControllerEvent.NodeSuspected;
import dev.berth.controller.ControllerEvent.OfReplica;
import dev.berth.controller.DeclaredApplication;
import dev.berth.controller.wire.JsonForm;
import dev.berth.desired.DesiredState;
import dev.berth.desired.NodeRegistry;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.wire.WireCodec;
import dev.berth.view.ClusterDetails;
import dev.berth.view.ControllerCommands;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Role of a control node whose controller commands the nodes of a cluster: this node by calls, the
 * others over their control links. Confined to the control loop.
 */
final class ControlRole extends LocalController
    implements ControlServer.ControlServerListener, RegistrationStore {
  /** Key of a message that is no command: the complete list of declared applications. */
  static final String DECLARED = "declared";

  /** Maximum wait of starting nodes for the routes of applications that are deploying. */
  private static final Duration UNROUTED = Duration.ofSeconds(10);

  /** Interval of the attempts to fetch jars that this node lost from other nodes. */
  private static final Duration RESTORE = Duration.ofSeconds(2);

  private final ClusterMembershipClient side;
  private final LinkServer controlLinks;
  private final ControlServer server;
  private final RetainedCommands standing = new RetainedCommands();

  private Future<Void> restoring = Future.succeededFuture(); // last attempt to fetch lost jars
  private long restores = -1; // timer id
  private boolean standsBy;
  private volatile long lostNodes;
  private final UpstreamGrantLog grants;
  private final AddressPublisher addresses; // of the applications' consumers
  private final Set<String> told = new HashSet<>(); // bus names of nodes with all standing commands

  ControlRole(ControllerRoleParts parts, ClusterMembershipClient side) {
    super(parts);
    this.side = side;
    controlLinks = new LinkServer(side.controlLoops.tls(), "control links");
    server = new ControlServer(side.controlLoops, rules(side), this, this::authority, this);
    addresses = new AddressPublisher(control, server, () -> side.members.list());
    this.standsBy = serve.nodes().standsBy() != null;
    on.meters().addCounter("berth_nodes_lost", () -> lostNodes);
    grants = new UpstreamGrantLog(side, serve, control, this::tell, this::isDraining);
    actions.on(GrantUpstreams.class, grants::grant).on(ProbeOwner.class, grants::probe);
  }

  private static MembershipRules rules(ClusterMembershipClient side) {
    return new MembershipRules(
        side.config.name(),
        side.config.node(),
        side.process(),
        side.controlNodes(),
        side.config.interval().toNanos(),
        side.config.timeout().toNanos());
  }

  @Override
  long leaseMillis() {
    return side.config.moveAfter();
  }

  private boolean isHere(String node) {
    return node.equals(on.identity().node());
  }

  // --- commands of the controller ---

  @Override
  void command(Command command) {
    if (command instanceof CommandTo one && !isHere(one.node())) {
      server.command(NodeInfo.nameOf(one.node()), encoded(command));
      return;
    }
    if (standsBy) {
      return; // while it stands by, no node receives commands
    }
    super.command(command);
    if (standing.keep(command)) {
      Buffer bytes = encoded(command);
      told.forEach(each -> server.command(NodeInfo.nameOf(each), bytes));
    }
  }

  private static Buffer encoded(Command command) {
    return JsonForm.COMMANDS.encode(command).toBuffer();
  }

  @Override
  void send(String node, BusMessage message) {
    if (isHere(node)) {
      super.send(node, message);
    } else {
      server.bus(NodeInfo.nameOf(node), WorkerRole.encoded(message));
    }
  }

  @Override
  Collection<String> nodes() {
    return Stream.concat(
            super.nodes().stream(), registeredNodes().stream().map(NodeRegistration::busName))
        .distinct()
        .toList();
  }

  @Override
  void onRecovered(Recovered known) {
    super.onRecovered(known);
    control.home().setTimer(UNROUTED.toMillis(), over -> standing.giveUp());
    standing.onRecovered();
  }

  @Override
  void announced(Announce state) {
    standing.announced(state);
    super.announced(state);
  }

  @Override
  public Future<Void> complete() {
    return standing.complete();
  }

  /**
   * Passes all members to a new controller. The controller repeats all standing commands, and every
   * node connects again with its inventory.
   */
  @Override
  void tellHosted(Consumer<ControllerEvent> controller) {
    standing.begin(serve.applications().stream().map(DeclaredApplication::name).toList());
    told.clear();
    grants.tellGranted(controller);
    reportJoined(on.identity().node(), side.config.zone(), controller);
    for (Member each : side.members.list()) {
      String node = each.node().busName();
      if (!isHere(node)) {
        reportJoined(node, each.node().zone(), controller);
        state(node, each.state(), controller);
      }
    }
    super.tellHosted(controller);
    server.callAgain();
  }

  private static void state(
      String node, Member.MemberState state, Consumer<ControllerEvent> controller) {
    switch (state) {
      case SUSPECTED -> controller.accept(new NodeSuspected(node, true));
      case LEAVING -> controller.accept(new NodeLeaving(node));
      case CORDONED, ALIVE -> {} // a cordon, which a suspected node may have, is reported on join
    }
  }

  /** Reports a node to the controller, with its cordon if an operator drained the node before. */
  private void reportJoined(
      String node, @Nullable String zone, Consumer<ControllerEvent> controller) {
    controller.accept(new NodeJoined(node, zone));
    if (serve.nodes().cordoned().contains(NodeInfo.nameOf(node))) {
      ClusterAdmin.tell(node, true, controller);
    }
  }

  // --- membership events ---

  @Override
  public void onNodeJoined(Member member, boolean fresh) {
    addresses.onNodeJoined(member);
    if (isHere(member.node().busName())) {
      return; // the controller knew this node from its start
    }
    reportJoined(member.node().busName(), member.node().zone(), this::tell);
  }

  /**
   * Passes an inventory to the controller, then sends all standing commands. They are sent on each
   * new link, since earlier ones may be lost.
   */
  @Override
  public void onInventory(Member member, Buffer inventory) {
    String node = member.node().busName();
    JsonObject json = new JsonObject(inventory);
    addresses.onInventory(member, json);
    if (isHere(node)) {
      return; // the controller receives the local inventory directly
    }
    ControllerEvent event = JsonForm.EVENTS.decode(json);
    if (!(event instanceof Inventory of) || !of.node().equals(node)) {
      throw new IllegalArgumentException("no inventory of " + node);
    }
    tell(event);
    standing.all().forEach(each -> server.command(member.node().name(), encoded(each)));
    told.add(node);
    standing.complete().onSuccess(complete -> declared(node));
  }

  private void declared(String node) {
    if (told.contains(node)) {
      JsonArray names = new JsonArray();
      serve.applications().forEach(each -> names.add(each.name()));
      Buffer message = new JsonObject().put(DECLARED, names).toBuffer();
      server.command(NodeInfo.nameOf(node), message);
    }
  }

  @Override
  public void onEvent(Member member, Buffer event) {
    JsonObject json = new JsonObject(event);
    if (json.equals(ClusterMembershipClient.EMPTIED)) {
      server.onNodeDrained(member.node().name());
    } else if (!addresses.onMessage(member, json)) {
      onReplicaEvent(json);
    }
  }

  private void onReplicaEvent(JsonObject json) {
    if (JsonForm.EVENTS.decode(json) instanceof OfReplica of) {
      tell(of);
    } else {
      throw new IllegalArgumentException(json + " (expected: of a replica)");
    }
  }

  @Override
  public void onBusMessage(Member member, Buffer payload, @Nullable Consumer<Buffer> answer) {
    BusMessage message = WireCodec.decode(0, payload);
    if (answer == null) {
      send(message);
    } else {
      ask(message).onSuccess(number -> answer.accept(Buffer.buffer().appendLong(number)));
    }
  }

  @Override
  public void onMembershipEvent(MembershipEvent news) {
    if (news instanceof PublishMembers it) {
      side.members(it.members());
      on.proxies().members().update(it.members().list(), control.home());
    } else if (news instanceof SuspicionChanged it) {
      tell(new NodeSuspected(it.member().node().busName(), it.suspected()));
    } else if (news instanceof MemberLeaving it) {
      tell(new NodeLeaving(it.member().node().busName()));
    } else if (news instanceof NodeRemoved gone) {
      String node = gone.who().busName();
      told.remove(node);
      addresses.onNodeRemoved(node);
      boolean lost = gone instanceof RemovedAsLost;
      lostNodes += lost ? 1 : 0;
      tell(lost ? new NodeLost(node) : new NodeLeft(node));
    } else if (news instanceof StandBy it) {
      standsBy = true;
      side.noController(); // local routers lose the controller, too
      standing.begin(List.of());
      serve.nodes(registry -> registry.standingBy(it.reason())); // persists until --adopt
      serve.refuse("the controller stands by: " + it.reason());
    }
  }

  // --- registrations in the log of the control nodes; thread-safe ---

  @Override
  public Future<Void> register(String name, String process) {
    return commit(registry -> registry.with(name, process));
  }

  @Override
  public Future<Void> remove(String name, long number) {
    return commit(registry -> registry.without(name, number));
  }

  private Future<Void> commit(UnaryOperator<NodeRegistry> change) {
    return control.call(() -> serve.nodes(change)).mapEmpty();
  }

  @Override
  public Collection<NodeRegistration> registeredNodes() {
    return serve.nodes().nodes().entrySet().stream()
        .map(
            each ->
                new NodeRegistration(
                    each.getKey(), each.getValue().process(), each.getValue().registration()))
        .toList();
  }

  /** Returns the cluster's epoch and the log position of this node's controller. */
  private ClusterEpoch authority() {
    DesiredState now = serve.logged();
    Map.Entry<Long, String> command = now.command();
    return new ClusterEpoch(
        now.nodes().cluster(),
        now.nodes().generation(),
        now.term(),
        command.getKey(),
        command.getValue());
  }

  @Override
  public boolean includes(ClusterEpoch seen) {
    return serve.logged().includes(seen.revision(), seen.digest());
  }

  // --- start and stop ---

  @Override
  public Future<Void> start() {
    return super.start().compose(started -> startLinks());
  }

  private Future<Void> startLinks() {
    server.start();
    String reason = serve.nodes().standsBy();
    if (reason != null) {
      server.standBy(reason);
    }
    serve.nodes().cordoned().forEach(each -> server.cordon(each, true));
    side.join(server.local(), new OwnLink());
    restores = on.vertx().setPeriodic(RESTORE.toMillis(), look -> restore());
    return controlLinks
        .listen(
            List.of(side.controlLoops.links()),
            side.config.bind(),
            side.config.ports().control(),
            server::accept)
        .mapEmpty();
  }

  /** Fetches missing or damaged jars from nodes that run their applications. */
  private void restore() {
    List<Jar> lost = List.copyOf(serve.lostJars());
    if (lost.isEmpty() || !restoring.isComplete()) {
      return;
    }
    List<NodeInfo> others =
        side.everyPeer().stream().filter(each -> !each.name().equals(side.config.node())).toList();
    List<Future<Path>> all =
        lost.stream()
            .map(each -> JarCache.restore(on.vertx(), side.peers, others, serve.jars(), each))
            .toList();
    restoring =
        Future.any(all)
            .compose(any -> Future.join(all).otherwiseEmpty())
            .compose(over -> serve.readAgain());
  }

  @Override
  public List<AdminRoutes> operators(Function<ControllerCommands, AdminRoutes> here) {
    ClusterRoutes cluster = new ClusterRoutes(admin());
    List<AdminRoutes> routes = new ArrayList<>();
    routes.add(cluster::mountStatus);
    routes.add(new CommandGate(this::cluster, this::closedReason));
    routes.add(cluster);
    routes.addAll(super.operators(here));
    return routes;
  }

  @Override
  Future<@Nullable ClusterDetails> clusterDetails() {
    return admin().details().map(found -> found);
  }

  @Override
  public @Nullable String missingController() {
    String closed = closedReason();
    return closed == null ? super.missingController() : closed;
  }

  private ClusterAdmin admin() {
    return new ClusterAdmin(side, serve, server, this::replicas, this::tell);
  }

  private String cluster() {
    return CommandGate.name(serve.nodes().cluster(), serve.nodes().generation());
  }

  /**
   * Returns why operators' requests are refused, or null. A control node that lost its state must
   * not report that there are no applications.
   */
  private @Nullable String closedReason() {
    return standsBy || serve.applications().isEmpty() ? server.closedReason() : null;
  }

  @Override
  public Future<Void> drains() {
    side.leave();
    return super.drains();
  }

  /** Lets other nodes start replacements for the replicas. */
  @Override
  public Future<Void> withdraw() {
    return side.drainAndLeave(host());
  }

  /** Closes the log last: leaving nodes need its commits, and other nodes fetch code through it. */
  @Override
  public Future<Void> stop() {
    on.vertx().cancelTimer(restores);
    server.stop();
    return controlLinks
        .close()
        .eventually(side::stop)
        .eventually(super::stop)
        .eventually(() -> control.call(serve::close));
  }

  /**
   * Listener of the link between the controller and its own node, which is registered like any
   * other node. Direct calls replace its inventory and its commands.
   */
  private final class OwnLink implements ControlClient.ControlClientListener {
    @Override
    public void onWelcome(Welcome welcome) {
      side.welcomed(welcome);
      if (standsBy) { // since the server sent the welcome
        side.noController();
      }
      on.proxies().sessions().useCluster(welcome.authority().clusterId());
      standing.registered();
    }

    @Override
    public Buffer inventory() {
      return side.addresses.addTo(new JsonObject()).toBuffer();
    }

    @Override
    public void onCommand(Buffer payload) {
      side.addresses.onMessage(new JsonObject(payload));
    }

    @Override
    public void onLeaseRenewed(long sentNanos) {
      on.proxies().lease().renew(sentNanos);
    }

    @Override
    public Collection<String> unreachable() {
      return side.unreachable();
    }
  }
}

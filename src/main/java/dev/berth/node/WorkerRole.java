package dev.berth.node;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.ClusterRoutes;
import dev.berth.admin.JarRoutes;
import dev.berth.cluster.control.Connector;
import dev.berth.cluster.control.ControlClient;
import dev.berth.cluster.control.ControlLoops;
import dev.berth.cluster.control.SocketConnector;
import dev.berth.cluster.http.CommandGate;
import dev.berth.cluster.http.ControlNodeClient;
import dev.berth.cluster.http.ForwardRoutes;
import dev.berth.cluster.http.JarCache;
import dev.berth.cluster.http.RemoteBuildFetcher;
import dev.berth.cluster.membership.ClusterEpoch;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.Member.MemberState;
import dev.berth.cluster.membership.MemberList;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.code.BuildCache;
import dev.berth.code.LoadedApplication;
import dev.berth.config.InstanceOptions;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.CommandTo;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.Epoch;
import dev.berth.controller.wire.JsonForm;
import dev.berth.desired.JarProvider;
import dev.berth.desired.ServeControl;
import dev.berth.desired.TimeOfDay;
import dev.berth.node.InstanceRuntime.InstanceContext;
import dev.berth.node.loops.EventBusSender;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.RepullRouting;
import dev.berth.protocol.wire.WireCodec;
import dev.berth.view.ClusterDetails;
import dev.berth.view.ControllerCommands;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Role of a worker, whose controller is on another node. The worker runs its commands and reports
 * events. Without a controller, routers use the last snapshots. Confined to the control loop.
 */
class WorkerRole implements NodeRole, ControlClient.ControlClientListener {
  private static final Logger LOG = LoggerFactory.getLogger(WorkerRole.class);

  /** Maximum number of applications that a node names when it connects. */
  private static final int MAX_REPORTED_APPLICATIONS = 100;

  private final InstanceContext on;
  private final InstanceRuntime host;
  private final ClusterMembershipClient side;
  private final ControlNodeClient control;
  private final JarProvider jars;
  private final RemoteBuildFetcher code;
  private final Runnable drainAsked;
  private final Promise<Void> commanded = Promise.promise();
  private @Nullable Welcome welcome; // last received
  private @Nullable ControlClient client; // set once this node listens

  /**
   * @param offLoop executor that may block
   * @param drainAsked begins the drain of the instance
   */
  WorkerRole(
      InstanceContext on,
      Function<NodeRole, InstanceRuntime> hosts,
      @Nullable ClusterMembershipClient side,
      Executor offLoop,
      Runnable drainAsked) {
    this.on = on;
    this.host = hosts.apply(this);
    this.side = Objects.requireNonNull(side);
    this.drainAsked = drainAsked;
    this.control =
        new ControlNodeClient(
            on.vertx(),
            this.side.peers,
            this::controlNode,
            () -> this.side.hasController,
            this::authority);
    this.jars =
        JarProvider.fetched(
            on.config().get(InstanceOptions.STATE_DIR).resolve("fetched"),
            offLoop,
            on.loops().control(),
            host.builds::jarsInUse,
            TimeOfDay.of(on.identity().wallClock()::millis, on.identity().nanoClock()));
    this.code =
        new RemoteBuildFetcher(control, new JarCache(jars, control, JarRoutes.PATH), on.config());
  }

  private ControlClient client() {
    return Objects.requireNonNull(client, "client: null (expected: a started one)");
  }

  @Override
  public InstanceRuntime host() {
    return host;
  }

  // --- code from the controller ---

  @Override
  public BuildCache.@Nullable BuildInputs find(String application, long revision) {
    return null;
  }

  @Override
  public Future<BuildCache.BuildInputs> elsewhere(String application, String build) {
    return code.source(application, build)
        .map(found -> new BuildCache.BuildInputs(found, on.config()));
  }

  // --- messages to the controller ---

  @Override
  public void tell(ControllerEvent event) {
    on.loops().control().execute(() -> client().event(JsonForm.EVENTS.encode(event).toBuffer()));
  }

  @Override
  public List<String> runs() {
    return host.replicas.inventory().stream()
        .map(each -> ServeControl.name(each.target().id().application(), each.target().revision()))
        .distinct()
        .limit(MAX_REPORTED_APPLICATIONS)
        .toList();
  }

  @Override
  public Buffer inventory() {
    return side.addresses.addTo(JsonForm.EVENTS.encode(host.inventory())).toBuffer();
  }

  @Override
  public void send(BusMessage message) {
    if (client != null) { // else its sender repeats it later
      client.bus(encoded(message));
    }
  }

  @Override
  public Future<Long> ask(BusMessage message) {
    return client().ask(encoded(message)).map(answer -> answer.getLong(0));
  }

  static Buffer encoded(BusMessage message) {
    Buffer bytes = Buffer.buffer();
    WireCodec.encode(message, bytes);
    return bytes;
  }

  @Override
  public Collection<String> unreachable() {
    return side.unreachable();
  }

  @Override
  public List<AdminRoutes> operators(Function<ControllerCommands, AdminRoutes> here) {
    return List.of(AdminRoutes.drain(this::drainRequested), new JarRoutes(jars)::mountFetched);
  }

  private Future<Void> drainRequested() {
    drainAsked.run();
    return Future.succeededFuture();
  }

  @Override
  public List<AdminRoutes> forwarded() {
    ForwardRoutes forward =
        new ForwardRoutes(NodeInfo.nameOf(on.identity().node()), control, on.config());
    forward.show(on.meters());
    return List.of(ClusterRoutes.withoutControl(this::lastKnown), forward);
  }

  @Override
  public @Nullable String missingController() {
    return "controller: " + client().why();
  }

  @Override
  public boolean isCommandedElsewhere() {
    return side.hasController;
  }

  /** Returns the cluster as this node last knew it; null while a controller is connected. */
  private @Nullable ClusterDetails lastKnown() {
    if (side.hasController) {
      return null;
    }
    ClusterEpoch last = welcome == null ? new ClusterEpoch("", 0, 0, 0, "") : welcome.authority();
    return new ClusterDetails(
        side.config.name(),
        last.clusterId(),
        last.generation(),
        last.term(),
        last.revision(),
        side.config.node(),
        null,
        false,
        client().why(),
        Map.of(),
        false,
        List.of(),
        List.of(),
        side.members.list().stream().map(this::lastKnown).toList(),
        List.of());
  }

  /** Returns the last known state of a node; the controller's node counts as suspected. */
  private ClusterDetails.Node lastKnown(Member member) {
    NodeInfo node = member.node();
    return side.shown(
        isController(node)
            ? new Member(node, member.registration(), MemberState.SUSPECTED)
            : member,
        null,
        null,
        null,
        side.reaches(node.busName()) ? List.of() : List.of(side.config.node()));
  }

  private boolean isController(NodeInfo node) {
    return welcome != null && node.name().equals(welcome.controller());
  }

  /** Returns the node of the controller; null while unknown. */
  private @Nullable NodeInfo controlNode() {
    return side.members.list().stream()
        .map(Member::node)
        .filter(this::isController)
        .findFirst()
        .orElse(null);
  }

  /** Returns the cluster and generation that this node follows, for {@link CommandGate}. */
  private String authority() {
    return welcome == null
        ? "none"
        : CommandGate.name(welcome.authority().clusterId(), welcome.authority().generation());
  }

  @Override
  public void onCodeUnused(LoadedApplication code) {
    jars.removeUnused();
  }

  // --- messages from the controller ---

  /**
   * Requests the routing state that was published meanwhile. After a lost registration, also stops
   * all replicas, which have no owner any more.
   */
  @Override
  public void onWelcome(Welcome welcome) {
    this.welcome = welcome;
    side.welcomed(welcome);
    on.proxies().sessions().useCluster(welcome.authority().clusterId());
    if (welcome.fresh()) {
      host.replicas.stopAll();
    }
    ClusterEpoch by = welcome.authority();
    toRouters(new RepullRouting(new Epoch(by.generation(), by.term(), "").number()));
  }

  @Override
  public void onMembers(MemberList members) {
    side.members(members);
    on.proxies().members().update(members.list(), on.loops().control().home());
  }

  @Override
  public void onCommand(Buffer payload) {
    JsonObject json = new JsonObject(payload);
    if (json.getValue(ControlRole.DECLARED) instanceof JsonArray declared) {
      declared(declared);
      return;
    }
    if (side.addresses.onMessage(json)) {
      return;
    }
    Command command = JsonForm.COMMANDS.decode(json);
    if (!(command instanceof CommandTo one) || one.node().equals(on.identity().node())) {
      if (!host.actions.gate().admits(command.epoch())) { // else its refusal would go unnoticed
        throw new IllegalStateException(
            "commands of " + command.epoch() + " (expected: of the latest known epoch)");
      }
      host.actions.accept(command);
    }
  }

  /** Handles the list of declared applications, which follows all standing commands. */
  private void declared(JsonArray applications) {
    Set<String> names = new HashSet<>();
    applications.forEach(each -> names.add((String) each));
    host.routes.keepOnly(names);
    host.routes.flush();
    commanded.tryComplete();
  }

  @Override
  public void onBusMessage(Buffer payload) {
    toRouters(WireCodec.decode(0, payload));
  }

  private void toRouters(BusMessage message) {
    String address = BusAddresses.routing(on.identity().node());
    on.vertx().eventBus().send(address, message, EventBusSender.LOCAL);
  }

  @Override
  public void onLeaseRenewed(long sentNanos) {
    on.proxies().lease().renew(sentNanos);
  }

  @Override
  public void onNoController(boolean none) {
    if (none) {
      side.noController();
      LOG.warn("controller unreachable: routing continues with the last snapshot");
    }
  }

  // --- start and stop ---

  @Override
  public Future<Void> start() {
    ControlLoops loops = side.controlLoops;
    Connector elsewhere =
        new SocketConnector(loops.links(), loops.tls(), loops.dialer(), side.config.join());
    client = side.join(elsewhere, this);
    return Future.succeededFuture();
  }

  @Override
  public Future<Void> complete() {
    return commanded.future();
  }

  @Override
  public Future<Void> drains() {
    side.leave();
    return Future.succeededFuture();
  }

  @Override
  public Future<Void> withdraw() {
    return side.drainAndLeave(host);
  }

  @Override
  public Future<Void> stop() {
    Future<Void> stopped = client == null ? Future.succeededFuture() : client.stop();
    return stopped.eventually(side::stop);
  }
}

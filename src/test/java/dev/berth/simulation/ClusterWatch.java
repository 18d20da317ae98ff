package dev.berth.simulation;

import dev.berth.cluster.membership.Member;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.desired.NodeRegistry;
import dev.berth.node.DataPlane;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.wire.WireCodec;
import dev.berth.replica.Replica;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RoutingProbe;
import dev.berth.view.LedgerView;
import dev.berth.view.ReplicaPhase;
import io.netty.buffer.ByteBuf;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** What must hold in a {@link ClusterSimulation}, and what was seen of it. */
final class ClusterWatch implements Executions.Listener, SimulatedNet.Tap {
  /** A call to another node is accepted within so long, or never. */
  private static final long ACCEPT_NANOS = TimeUnit.SECONDS.toNanos(3);

  /** Clocks that differ, and half of a round trip. */
  private static final long SLACK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** A look, and a task on each loop. */
  private static final long TOLD_NANOS = TimeUnit.MILLISECONDS.toNanos(60);

  /** What a loop is held for, at least. */
  private static final long HELD_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** A node is not to be lost when for so long nothing has befallen it or the controller's. */
  private static final long HEALTHY_NANOS = TimeUnit.SECONDS.toNanos(6);

  /** A replica, by where it runs. */
  private record Made(ClusterNode at, int process, long registration) {}

  private final ClusterSimulation on;
  private final World world;
  private final Map<String, ClusterCall> calls = new HashMap<>();
  private final Map<String, Long> registeredMs = new HashMap<>(); // last, by node
  private final List<ClusterCall> open = new ArrayList<>();
  private final Map<String, Long> sentNanos = new HashMap<>(); // calls to other nodes, the last
  private final Map<String, Made> made = new LinkedHashMap<>();
  private final Set<String> recalls = new HashSet<>(); // under way
  private final Map<String, Long> heldSince = new HashMap<>(); // calls that came to a held loop
  private final Map<String, Set<String>> members = new HashMap<>(); // by process, as it was told
  private final Map<String, Map<String, Long>> lost = new HashMap<>(); // and since when
  private final Map<ClusterCall, Long> ended = new LinkedHashMap<>(); // there, and since when
  private final Set<Long> numbers = new HashSet<>();
  private final Set<String> waiting = new HashSet<>(); // beside a free slot, at the last look
  ClusterNode at; // whose user code runs

  ClusterWatch(ClusterSimulation on) {
    this.on = on;
    this.world = on.world;
  }

  private SimulationFailure broken(String claim) {
    throw world.fail(claim);
  }

  // --- who is a node ---

  /** It was committed who belongs to the cluster: each has a number of its own, and a reason. */
  void registered(NodeRegistry before, NodeRegistry now) {
    now.nodes()
        .forEach(
            (name, node) -> {
              if (!node.equals(before.find(name))) {
                world.note("node", name + " " + node);
                registeredMs.put(name, TimeUnit.NANOSECONDS.toMillis(world.elapsedNanos()));
                if (!numbers.add(node.registration())) {
                  throw broken(name + ": given a number twice: " + node);
                }
              }
            });
    before
        .nodes()
        .forEach(
            (name, node) -> {
              if (!node.equals(now.find(name))) {
                on.count("lost or left");
                mayGo(on.nodes.stream().filter(it -> it.name.equals(name)).findFirst().get(), node);
              }
            });
  }

  private void mayGo(ClusterNode node, NodeRegistry.RegisteredProcess who) {
    world.note("no node", node.name + " " + who);
    long befallenUntil = Math.max(node.befallenUntil, on.first().befallenUntil);
    boolean fine = world.elapsedNanos() - befallenUntil > HEALTHY_NANOS;
    boolean lives = node.isUp() && node.vertx().node().endsWith(who.process());
    if (lives && !node.leaving && fine) {
      throw broken(node.name + ": lost (expected: a node, nothing befell it)");
    }
  }

  // --- replicas ---

  private long registration(ClusterNode node) {
    NodeRegistry.RegisteredProcess now = on.log.state().nodes().find(node.name);
    return now == null ? -1 : now.registration();
  }

  /** One starts: no more are there than are wanted, as far as those who have them are not lost. */
  void made(String replicaId) {
    boolean strange = replicaId.startsWith(ClusterSimulation.STRANGE.application());
    if (strange) {
      on.count("strange replicas");
      if (!at.isStrange()) {
        throw broken(
            replicaId + " starts on " + at.name + " (expected: only where nobody knew better)");
      }
      return;
    }
    world.note("made", replicaId + " on " + at.name);
    if (isOfLost(at, replicaId)) {
      return;
    }
    made.put(replicaId, new Made(at, at.processes, registration(at)));
    made.entrySet().removeIf(each -> isOver(each.getKey(), each.getValue()));
    on.count("replicas");
    if (!on.isDeployed) {
      on.count("replicas of a journal");
    }
    if (on.isSteady && on.first().processes > 1) {
      on.count("replicas for those that were lost");
    }
    if (on.isSteady && made.size() > on.replicas) {
      throw broken(
          "%s is one of %d: %s (expected: %d, while nobody is lost)"
              .formatted(replicaId, made.size(), made, on.replicas));
    }
  }

  /** It was to start under a registration that was lost, and its node does not know that yet. */
  private boolean isOfLost(ClusterNode at, String replicaId) {
    return at.serves()
        && at.process().hosted().stream()
            .filter(each -> each.info().replicaId().equals(replicaId))
            .anyMatch(each -> each.startedMs() < registeredMs.getOrDefault(at.name, 0L));
  }

  private boolean isOver(String replicaId, Made it) {
    boolean isBefore = it.at.control && it.at.isUp() && it.at.processes != it.process;
    long now = registration(it.at);
    if (isBefore || it.registration != now || now < 0) { // who is lost may not know it yet
      return true;
    }
    if (!it.at.serves() || it.at.processes != it.process) {
      return false; // it is not known to be over
    }
    return it.at.process().hosted().stream()
        .filter(each -> each.info().replicaId().equals(replicaId))
        .noneMatch(each -> each.phase() != ReplicaPhase.DRAINING && each.healthy());
  }

  boolean replicaDies(SplittableRandom random) {
    List<Replica> all = new ArrayList<>();
    on.nodes.stream()
        .filter(each -> each.serves() && !each.isPaused())
        .forEach(each -> all.addAll(each.plane().host.replicas()));
    if (all.isEmpty()) {
      return false;
    }
    Replica victim = all.get(random.nextInt(all.size()));
    world.note("dies", victim.replicaId());
    victim.kill();
    made.remove(victim.replicaId()); // before it is known, be its node lost by then
    return true;
  }

  private @Nullable ClusterNode host(String replicaId) {
    return on.nodes.stream()
        .filter(
            each ->
                each.serves()
                    && each.plane().host.replicas().stream()
                        .anyMatch(it -> it.replicaId().equals(replicaId)))
        .findFirst()
        .orElse(null);
  }

  // --- calls ---

  void asked(ClusterCall call) {
    calls.put(call.id, call);
    open.add(call);
  }

  @Override
  public void begun(Executions.Execution execution) {
    ClusterCall call = Objects.requireNonNull(calls.get(execution.requestId));
    ClusterNode there = host(execution.replicaId);
    if (there == null) {
      throw broken(call.id + ": runs on " + execution.replicaId + ", which is nobody's");
    }
    there.plane().host.replicas().stream()
        .filter(each -> each.replicaId().equals(execution.replicaId))
        .forEach(each -> checkSlots(each));
    if (there == call.at) {
      return;
    }
    on.count("run elsewhere");
    checkNotOfALostNode(call, there);
    Long held = heldSince.get(call.id);
    if (held != null && world.elapsedNanos() - held > HELD_NANOS) {
      on.count("run after their loop was held");
    }
    if (there.wasSuspended()) {
      return; // what came then looks younger than it is, until more comes
    }
    if (call.lateNanos() > SLACK_NANOS) {
      throw broken(call.id + ": begins " + call.lateNanos() / 1_000 + " us after its deadline");
    }
    Long sent = sentNanos.get(call.id);
    long took = sent == null ? 0 : world.elapsedNanos() - sent;
    if (took > ACCEPT_NANOS + SLACK_NANOS) {
      throw broken(call.id + ": is accepted " + took / 1_000_000 + " ms after it was sent");
    }
  }

  /** What a process says that is known to be lost changes nothing. */
  private void checkNotOfALostNode(ClusterCall call, ClusterNode there) {
    noteLost(there);
    Long known = lost.getOrDefault(there.vertx().node(), Map.of()).get(call.busName);
    if (known != null
        && world.elapsedNanos() - known > TOLD_NANOS
        && !there.wasHeldSince(known - ACCEPT_NANOS)) {
      throw broken(
          "%s of %s: runs on %s, which knows that it is lost"
              .formatted(call.id, call.busName, there.name));
    }
  }

  private void noteLost(ClusterNode node) {
    Set<String> now = new HashSet<>();
    node.members().list().forEach(each -> now.add(each.node().busName()));
    Set<String> before = members.put(node.vertx().node(), now);
    if (before != null && !now.isEmpty()) {
      before.removeAll(now);
      Map<String, Long> known = lost.computeIfAbsent(node.vertx().node(), none -> new HashMap<>());
      before.forEach(each -> known.put(each, world.elapsedNanos()));
      known.keySet().removeAll(now);
    }
  }

  /** Nothing ends what runs for somebody who waits for it, but its replica or his node. */
  @Override
  public void cancelled(Executions.Execution execution) {
    ClusterCall call = Objects.requireNonNull(calls.get(execution.requestId));
    ClusterNode there = host(execution.replicaId);
    if (there == null || there == call.at || !call.isWanted() || call.lateNanos() > -SLACK_NANOS) {
      return;
    }
    long lately = world.elapsedNanos() - HEALTHY_NANOS;
    if (there.wasSuspended()
        || call.at.wasSuspended()
        || there.wasHeldSince(lately)
        || call.at.wasHeldSince(lately)) {
      return; // its deadline there is earlier by what a ping takes, which waits for held loops
    }
    boolean stays =
        there.plane().host.replicas().stream()
            .anyMatch(it -> it.replicaId().equals(execution.replicaId) && !it.slots().draining());
    NodeRegistry.RegisteredProcess caller = on.log.state().nodes().find(call.at.name);
    if (stays && caller != null && call.busName.endsWith(caller.process())) {
      ended.put(call, world.elapsedNanos());
    }
  }

  // --- what is sent ---

  @Override
  public void sent(SimulatedVertx from, SimulatedVertx to, int port, ByteBuf bytes) {
    messages(
        port,
        bytes,
        message -> {
          on.count(message.getClass().getSimpleName());
          checkOwn(from, message);
          if (message instanceof BusMessage.CallRequest call) {
            if (call.bodyFollows()) {
              sentNanos.remove(call.requestId()); // it begins when that is there
            } else {
              sentNanos.put(call.requestId(), world.elapsedNanos());
            }
          } else if (message instanceof BusMessage.CallRefused refused) {
            on.count("refused " + refused.reason());
          } else if (message instanceof BusMessage.RecallCall recall) {
            recalls.add(recall(recall.source().node(), recall.source().loop(), recall.callId()));
          }
        });
  }

  @Override
  public void arrived(SimulatedVertx from, SimulatedVertx to, int port, ByteBuf bytes) {
    messages(
        port,
        bytes,
        message -> {
          if (message instanceof BusMessage.RecallCall recall) {
            recalls.remove(recall(recall.source().node(), recall.source().loop(), recall.callId()));
          } else if (message instanceof BusMessage.CallAccepted accepted) {
            if (IntStream.range(0, 2)
                .anyMatch(it -> recalls.contains(recall(to.node(), it, accepted.callId())))) {
              on.count("accepted crossed its recall");
            }
          } else if (message instanceof BusMessage.CallRequest call) {
            comes(call);
          }
        });
  }

  private static String recall(String router, int loop, long callId) {
    return router + "/" + loop + " " + callId;
  }

  private void comes(BusMessage.CallRequest call) {
    ClusterNode there =
        on.nodes.stream()
            .filter(it -> it.isUp() && it.vertx().node().equals(call.target().node()))
            .findFirst()
            .orElse(null);
    if (there != null
        && there.isUp()
        && !there.isPaused()
        && there.serving(call.target().loop()).isStalled()) {
      on.count("calls to a held loop");
      heldSince.put(call.requestId(), world.elapsedNanos());
    }
  }

  /** Only its owner grants a slot. */
  private void checkOwn(SimulatedVertx from, BusMessage message) {
    ReplicaAddress granted =
        message instanceof BusMessage.SlotReserved it
            ? it.target()
            : message instanceof BusMessage.SlotOffer it ? it.target() : null;
    if (granted != null && !granted.node().equals(from.node())) {
      throw broken("%s grants %s (expected: its node)".formatted(from.node(), message));
    }
  }

  @Override
  public void late(SimulatedVertx from, SimulatedVertx to) {
    boolean isNode =
        on.log.state().nodes().nodes().values().stream()
            .anyMatch(each -> from.node().endsWith(each.process()));
    on.count(isNode ? "bytes behind the end of a link" : "bytes of a lost node");
  }

  @Override
  public void full(SimulatedVertx from, SimulatedVertx to) {
    boolean paused =
        on.nodes.stream().anyMatch(each -> each.isUp() && each.vertx() == to && each.isPaused());
    on.count(paused ? "full buffers at a pause" : "full buffers");
  }

  private static void messages(
      int port, ByteBuf bytes, java.util.function.Consumer<BusMessage> each) {
    if (port == SimulatedEventBus.PORT) {
      Buffer frame = SimulatedEventBus.frame(BufferInternal.buffer(bytes.duplicate()));
      if (frame.getByte(0) == 7 || frame.getByte(0) == 8) {
        each.accept(WireCodec.decode(3, frame));
      }
    }
    if (port != ClusterNode.DATA_PORT) {
      return;
    }
    Buffer all = BufferInternal.buffer(bytes.duplicate());
    for (int at = 0; at < all.length(); at += 4 + all.getInt(at)) {
      byte kind = all.getByte(at + 4);
      if (kind == 7 || kind == 8) {
        each.accept(WireCodec.decode(at + 7, all));
      }
    }
  }

  // --- now and then ---

  /** Its router may have ended it, and its caller is told a task later. */
  private void checkEnded() {
    long told = world.elapsedNanos() - TOLD_NANOS;
    ended.forEach(
        (call, nanos) -> {
          if (nanos < told && call.isWanted() && !call.at.wasHeldSince(nanos)) {
            throw broken(call.id + ": was ended there (expected: its answer, which is waited for)");
          }
        });
    ended.values().removeIf(nanos -> nanos < told);
  }

  void look() {
    checkEnded();
    Set<String> now = new HashSet<>();
    for (ClusterNode each : on.nodes) {
      if (each.serves()) {
        noteLost(each);
        each.plane().host.replicas().forEach(this::checkSlots);
        String beside = waitsBesideAFreeSlot(each);
        if (beside != null) {
          now.add(each.name + beside);
        }
      }
    }
    waiting.retainAll(now);
    if (!waiting.isEmpty()) {
      throw broken("somebody waits beside a free slot of " + waiting);
    }
    waiting.addAll(now);
    open.removeIf(call -> !call.isOpen() && !call.isHeld());
    open.stream().filter(ClusterCall::isOpen).forEach(ClusterCall::checkInTime);
  }

  private void checkSlots(Replica replica) {
    replica.slots().audit();
    LedgerView view = replica.view();
    boolean fits = view.running() + view.reserved() <= view.maxOngoing();
    boolean addsUp = view.audit() == LedgerView.Audit.CLEAN;
    if (!fits || !addsUp || on.executions.running(view.replicaId()) > view.running()) {
      throw broken("slots: " + view + ", in user code: " + on.executions.running(view.replicaId()));
    }
  }

  private @Nullable String waitsBesideAFreeSlot(ClusterNode node) {
    if (node.isPaused() || !node.process().isWanted(ClusterSimulation.MODEL)) {
      return null;
    }
    DeploymentRouter router = node.process().router(ClusterSimulation.MODEL);
    int waiters = 0;
    for (int loop = 0; loop < node.servingLoops(); loop++) {
      if (node.serving(loop).isStalled()) {
        return null;
      }
      waiters += RoutingProbe.waitingOn(router, loop);
    }
    if (waiters == 0) {
      return null;
    }
    Set<String> usable = new HashSet<>();
    RoutingProbe.routableAndWell(router).stream().map(ReplicaInfo::replicaId).forEach(usable::add);
    return node.plane().host.replicas().stream()
        .filter(it -> usable.contains(it.replicaId()))
        .filter(it -> !it.slots().draining() && it.slots().ongoing() < it.slots().maxOngoing())
        .map(Replica::replicaId)
        .findFirst()
        .orElse(null);
  }

  // --- the end ---

  /** Whether a release or a cancel has not been answered: one of a late offer may be on its way. */
  private static boolean repeatsCancels(DataPlane plane) {
    return IntStream.range(0, plane.loops())
        .anyMatch(index -> plane.routers.loop(index).cancelsRepeated() > 0);
  }

  /** Whether it is as it is to be in the end. */
  boolean rests() {
    if (on.calls.stream().anyMatch(call -> call.isOpen() || call.isHeld())) {
      return false;
    }
    Set<String> there = new HashSet<>();
    for (ClusterNode node : on.nodes) {
      if (!node.serves()
          || node.members().list().size() != on.nodes.size()
          || !node.process().isWanted(ClusterSimulation.MODEL)
          || repeatsCancels(node.plane())) {
        return false;
      }
      node.process().hosted().forEach(each -> there.add(each.info().replicaId()));
    }
    return there.size() == on.replicas
        && on.nodes.stream()
            .allMatch(
                node ->
                    RoutingProbe.routable(node.process().router(ClusterSimulation.MODEL)).size()
                            == there.size()
                        && node.members().list().stream()
                            .allMatch(it -> it.state() == Member.MemberState.ALIVE)
                        && node.process().hosted().stream()
                            .allMatch(it -> it.phase() == ReplicaPhase.RUNNING)
                        && node.plane().host.replicas().stream()
                            .allMatch(it -> it.slots().ongoing() == 0));
  }

  /**
   * @param last calls, which nothing befell
   */
  void checkAtEnd(List<ClusterCall> last) {
    on.calls.forEach(ClusterCall::checkAtEnd);
    Set<String> there = new TreeSet<>();
    for (ClusterNode node : on.nodes) {
      if (!node.serves()) {
        throw broken(node.name + ": is no node at the end");
      }
      for (Found found : node.process().hosted()) {
        if (found.phase() != ReplicaPhase.RUNNING) {
          throw broken(node.name + ": " + found);
        }
        there.add(found.info().replicaId());
      }
    }
    if (there.size() != on.replicas) {
      throw broken("replicas at the end: " + there + " (expected: " + on.replicas + ")");
    }
    for (ClusterNode node : on.nodes) {
      Set<String> known = new TreeSet<>();
      DeploymentRouter router = node.process().router(ClusterSimulation.MODEL);
      RoutingProbe.routable(router).forEach(each -> known.add(each.replicaId()));
      boolean all =
          node.members().list().size() == on.nodes.size()
              && node.members().list().stream()
                  .allMatch(it -> it.state() == Member.MemberState.ALIVE);
      if (!all || !known.equals(there)) {
        throw broken(
            "%s knows %s, %s (expected: %s and all nodes)"
                .formatted(node.name, node.members(), known, there));
      }
      for (Replica replica : node.plane().host.replicas()) {
        checkSlots(replica);
        if (replica.slots().ongoing() > 0) {
          throw broken("slots not back at the end: " + replica.view());
        }
      }
      AtRest.check(world, node.name, node.plane());
    }
    for (ClusterCall each : last) {
      if (!each.succeeded()) {
        throw broken(each + ": was not served in a cluster that is well");
      }
    }
  }
}

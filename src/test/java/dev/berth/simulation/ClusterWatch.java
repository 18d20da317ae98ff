package dev.berth.simulation;

import dev.berth.cluster.membership.Member;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.desired.NodeRegistry;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.ReplicaPhase;
import dev.berth.protocol.port.LedgerView;
import dev.berth.protocol.wire.WireCodec;
import dev.berth.replica.Replica;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RoutingProbe;
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
import org.jspecify.annotations.Nullable;

/** What must hold in a {@link ClusterSimulation}, and what was seen of it. */
final class ClusterWatch implements Executions.Listener, SimulatedNet.Tap {
  /** A call to another node is accepted within so long, or never. */
  private static final long ACCEPT_NANOS = TimeUnit.SECONDS.toNanos(3);

  /** Clocks that differ, and half of a round trip. */
  private static final long SLACK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** So long after a change of what is declared there may be more replicas than wanted. */
  private static final long CHANGE_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** A node is not to be lost when for so long nothing has befallen it or the controller's. */
  private static final long HEALTHY_NANOS = TimeUnit.SECONDS.toNanos(6);

  /** A replica, by where it runs. */
  private record Made(ClusterNode at, int process, long registration) {}

  private final ClusterSimulation on;
  private final World world;
  private final Map<String, ClusterCall> calls = new HashMap<>();
  private final List<ClusterCall> open = new ArrayList<>();
  private final Map<String, Long> sentNanos = new HashMap<>(); // calls to other nodes, the last
  private final Map<String, Made> made = new LinkedHashMap<>();
  private final Map<String, String> recalls = new HashMap<>(); // under way
  private final Set<Long> numbers = new HashSet<>();
  private final Set<String> waiting = new HashSet<>(); // beside a free slot, at the last look
  private long changedNanos;
  ClusterNode at; // whose user code runs

  ClusterWatch(ClusterSimulation on) {
    this.on = on;
    this.world = on.world;
  }

  private SimulationFailure broken(String claim) {
    throw world.fail(claim);
  }

  // --- who is a node ---

  /** What is declared changes, or who serves it does by itself. */
  void changes() {
    changedNanos = world.elapsedNanos();
  }

  /** It was committed who belongs to the cluster: each has a number of its own, and a reason. */
  void registered(NodeRegistry before, NodeRegistry now) {
    now.nodes()
        .forEach(
            (name, node) -> {
              if (!node.equals(before.find(name)) && !numbers.add(node.registration())) {
                throw broken(name + ": given a number twice: " + node);
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

  private void mayGo(ClusterNode node, NodeRegistry.Registered who) {
    world.note("no node", node.name + " " + who);
    long befallenUntil = Math.max(node.befallenUntil, on.first().befallenUntil);
    boolean fine = world.elapsedNanos() - befallenUntil > HEALTHY_NANOS;
    if (node.isUp() && !node.leaving && fine) {
      throw broken(node.name + ": lost (expected: a node, nothing befell it)");
    }
  }

  // --- replicas ---

  private long registration(ClusterNode node) {
    NodeRegistry.Registered now = on.log.state().nodes().find(node.name);
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
    made.put(replicaId, new Made(at, at.processes, registration(at)));
    made.entrySet().removeIf(each -> isOver(each.getKey(), each.getValue()));
    on.count("replicas");
    boolean steady =
        world.elapsedNanos() - changedNanos > CHANGE_NANOS
            && on.nodes.stream().noneMatch(each -> each.leaving);
    if (steady && made.size() > on.replicas) {
      throw broken(
          "%s is one of %d: %s (expected: %d, while nobody is lost)"
              .formatted(replicaId, made.size(), made, on.replicas));
    }
  }

  private boolean isOver(String replicaId, Made it) {
    if (it.registration != registration(it.at)) {
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
        .forEach(each -> all.addAll(each.plane().host().replicas()));
    if (all.isEmpty()) {
      return false;
    }
    Replica victim = all.get(random.nextInt(all.size()));
    world.note("dies", victim.replicaId());
    victim.kill();
    return true;
  }

  private @Nullable ClusterNode host(String replicaId) {
    return on.nodes.stream()
        .filter(
            each ->
                each.serves()
                    && each.plane().host().replicas().stream()
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
    there.plane().host().replicas().stream()
        .filter(each -> each.replicaId().equals(execution.replicaId))
        .forEach(each -> checkSlots(each));
    if (there == call.at) {
      return;
    }
    on.count("run elsewhere");
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

  // --- what is sent ---

  @Override
  public void sent(SimulatedVertx from, SimulatedVertx to, int port, ByteBuf bytes) {
    messages(
        port,
        bytes,
        message -> {
          on.count(message.getClass().getSimpleName());
          if (message instanceof BusMessage.CallRequest call) {
            sentNanos.put(call.requestId(), world.elapsedNanos());
          } else if (message instanceof BusMessage.CallRefused refused) {
            on.count("refused " + refused.reason());
          } else if (message instanceof BusMessage.RecallCall recall) {
            recalls.put(recall.source().busAddress() + recall.callId(), "");
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
            recalls.remove(recall.source().busAddress() + recall.callId());
          } else if (message instanceof BusMessage.CallAccepted accepted) {
            String router = to.loops.get(0).node;
            if (recalls.keySet().stream()
                .anyMatch(it -> it.contains(router) && it.endsWith("" + accepted.callId()))) {
              on.count("accepted crossed its recall");
            }
          }
        });
  }

  private static void messages(
      int port, ByteBuf bytes, java.util.function.Consumer<BusMessage> each) {
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

  void look() {
    Set<String> now = new HashSet<>();
    for (ClusterNode each : on.nodes) {
      if (each.serves()) {
        each.plane().host().replicas().forEach(this::checkSlots);
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
    return node.plane().host().replicas().stream()
        .filter(it -> usable.contains(it.replicaId()))
        .filter(it -> !it.slots().draining() && it.slots().ongoing() < it.slots().maxOngoing())
        .map(Replica::replicaId)
        .findFirst()
        .orElse(null);
  }

  // --- the end ---

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
              && node.members().list().stream().allMatch(it -> it.state() == Member.State.ALIVE);
      if (!all || !known.equals(there)) {
        throw broken(
            "%s knows %s, %s (expected: %s and all nodes)"
                .formatted(node.name, node.members(), known, there));
      }
      for (Replica replica : node.plane().host().replicas()) {
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

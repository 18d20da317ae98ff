package dev.berth.cluster.membership;

import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.MemberAction.CommitRemoval;
import dev.berth.cluster.membership.MemberAction.ConfirmLeave;
import dev.berth.cluster.membership.MemberAction.EndLink;
import dev.berth.cluster.membership.MemberAction.MemberLeaving;
import dev.berth.cluster.membership.MemberAction.NodeRemoved;
import dev.berth.cluster.membership.MemberAction.ProbePort;
import dev.berth.cluster.membership.MemberAction.PublishMembers;
import dev.berth.cluster.membership.MemberAction.RefuseHello;
import dev.berth.cluster.membership.MemberAction.RegisterNode;
import dev.berth.cluster.membership.MemberAction.RemovedAsLeft;
import dev.berth.cluster.membership.MemberAction.RemovedAsLost;
import dev.berth.cluster.membership.MemberAction.SendWelcome;
import dev.berth.cluster.membership.MemberAction.StandBy;
import dev.berth.cluster.membership.MemberAction.SuspicionChanged;
import dev.berth.cluster.membership.MembershipStatus.NodeStatus;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The members of the cluster, as decided by the controller. Each method handles one event and
 * returns the required actions.
 *
 * <p><b>State.</b> A process moves
 *
 * <pre>
 *   unknown --HELLO, committed--> alive --silence--> suspected --committed--> lost
 *                                 alive --LEAVING--> leaving --committed--> left
 * </pre>
 *
 * A lost process returns only by a new HELLO, with a new registration number. A change is published
 * only after its commit. A decided removal is proposed until it is committed, because a failed
 * proposal may still be committed later.
 *
 * <p><b>Silence.</b> Sweeps measure silence. A sweep counts for at most two intervals, so that a
 * pause of the controller does not make members appear silent.
 *
 * <p><b>Failure.</b> When most nodes fall silent at once, the controller itself may be partitioned,
 * and delays their removal by {@link #HOLD_NANOS}. A controller stands by, and commits no removal,
 * once a node has seen a newer state. Confined to one thread.
 */
public final class Membership {
  /** Minimum silence before a registered node without HELLO is lost, in nanoseconds. */
  public static final long COME_NANOS = TimeUnit.SECONDS.toNanos(10);

  static final int MAX_NODES = 1_000; // more are refused

  /** Additional silence before removal while the controller may be partitioned, in nanoseconds. */
  public static final long HOLD_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final MembershipRules rules;
  private final Supplier<ClusterEpoch> authority;
  private final StateGuard guard;
  private final Map<String, NodeRecord> nodes = new LinkedHashMap<>(); // by name
  private final Map<Long, NodeRecord> byLink = new HashMap<>(); // members with a link
  private final Map<String, PendingJoin> joining = new HashMap<>(); // being committed, by name
  private final Set<String> cordoned = new HashSet<>(); // names, also of absent nodes
  private final List<MemberAction> actions = new ArrayList<>(); // of the current step
  private MemberList told = MemberList.NONE;
  private long sweptNanos;
  private boolean cutOff; // result of the last sweep

  /** A HELLO whose registration is being committed. */
  private record PendingJoin(HandshakeHello hello, long link) {}

  /**
   * @param authority of this controller, which only rises
   * @param includes whether its state has the last command of another authority of its generation
   */
  public Membership(
      MembershipRules rules,
      Supplier<ClusterEpoch> authority,
      Predicate<ClusterEpoch> includes,
      long nowNanos) {
    this.rules = rules;
    this.authority = authority;
    this.guard = new StateGuard(authority, includes);
    this.sweptNanos = nowNanos;
  }

  /** Starts with the registered processes. Each has {@link #COME_NANOS} to send HELLO. */
  public List<MemberAction> start(Collection<NodeRegistration> known) {
    expect(known);
    return done();
  }

  // --- joining ---

  /** Handles a HELLO. {@code stranger} is the reason why the certificate differs, or null. */
  public List<MemberAction> onHello(long link, HandshakeHello hello, @Nullable String stranger) {
    String refused = rules.refuses(hello, stranger);
    if (refused == null) {
      refused = fenced(hello.seen());
    }
    if (refused == null) {
      refused = welcome(link, hello);
    }
    if (refused != null) {
      actions.add(new RefuseHello(link, hello.node().name(), refused));
    }
    return done();
  }

  /**
   * Refuses the node if the controller stands by, which also begins when a node saw a newer state.
   */
  private @Nullable String fenced(@Nullable ClusterEpoch seen) {
    String before = guard.standsBy();
    String refused = guard.refuses(seen);
    String now = guard.standsBy();
    if (now != null && before == null) {
      actions.add(new StandBy(now));
    }
    return refused;
  }

  /** Stops commanding. The first reason is retained. */
  public List<MemberAction> standsBy(String reason) {
    if (guard.standBy(reason)) {
      actions.add(new StandBy(reason));
    }
    return done();
  }

  /** Returns why the node is refused; null when it is greeted or its registration is proposed. */
  private @Nullable String welcome(long link, HandshakeHello hello) {
    String name = hello.node().name();
    String process = hello.node().process();
    NodeRecord known = nodes.get(name);
    PendingJoin before = joining.get(name);
    if (known != null && known.who.process().equals(process) && known.ending == null) {
      greet(known, link, hello);
      return null;
    }
    if (known != null || before != null && !before.hello.node().process().equals(process)) {
      return "node %s: previous process still registered (expected: retry after it is lost)"
          .formatted(name);
    }
    if (before == null && nodes.size() + joining.size() >= MAX_NODES) {
      return "nodes: %d (expected: fewer)".formatted(MAX_NODES);
    }
    if (before == null && hello.leaving()) {
      actions.add(new ConfirmLeave(link));
      return null;
    }
    joining.put(name, new PendingJoin(hello, link));
    if (before == null) {
      actions.add(new RegisterNode(name, process));
    } else {
      endLink(before.link, "it connected again");
    }
    return null;
  }

  private void greet(NodeRecord node, long link, HandshakeHello hello) {
    endLink(node.link, "it connected again");
    byLink.put(link, node);
    node.link = link;
    node.told = false;
    node.info = hello.node();
    recordContact(node);
    boolean fresh = hello.registration() != node.who.number();
    Welcome welcome = new Welcome(authority.get(), rules.node(), node.who.number(), fresh);
    actions.add(new SendWelcome(link, welcome, member(node)));
    if (hello.leaving()) {
      leave(node);
    }
  }

  /** Handles the result of a registration, which {@code known} contains if it was committed. */
  public List<MemberAction> onRegisterResult(String name, Collection<NodeRegistration> known) {
    PendingJoin joined = joining.remove(name);
    expect(known);
    if (joined != null) {
      NodeRecord node = nodes.get(name);
      boolean committed = node != null && node.who.process().equals(joined.hello.node().process());
      String refused = // a stand-by may have begun during the commit
          committed ? guard.refuses(null) : "registration: not committed (expected: retry)";
      if (node != null && refused == null) {
        greet(node, joined.link, joined.hello);
      } else {
        actions.add(new RefuseHello(joined.link, name, refused));
      }
    }
    return done();
  }

  /** Adds processes. An earlier process of the controller's own node has ended: this one runs. */
  private void expect(Collection<NodeRegistration> known) {
    for (NodeRegistration who : known) {
      NodeRecord node = new NodeRecord(who);
      if (nodes.putIfAbsent(who.name(), node) == null
          && who.name().equals(rules.node())
          && !isSelf(who)) {
        end(node, new RemovedAsLost(who, "its node runs another process"));
      }
    }
  }

  // --- links ---

  /** Handles any message, before the method of its type. A link without a member is closed. */
  public List<MemberAction> onMessage(long link) {
    NodeRecord node = byLink.get(link);
    if (node == null) {
      actions.add(new EndLink(link, "not from a member (expected: HELLO, then WELCOME)"));
    } else {
      recordContact(node);
    }
    return actions.isEmpty() ? List.of() : done(); // most messages change no member
  }

  private void recordContact(NodeRecord node) {
    node.recordContact();
    if (node.suspected) {
      node.suspected = false;
      actions.add(new SuspicionChanged(member(node), false));
    }
  }

  /** Handles an inventory; {@link #onInventoryResult} then reports its result. */
  public void onInventory(long link) {
    NodeRecord node = byLink.get(link);
    if (node != null) {
      node.told = true;
    }
  }

  /** Handles the controller's result: the inventory was applied ({@code fit}) or rejected. */
  public void onInventoryResult(long link, boolean fit) {
    NodeRecord node = byLink.get(link);
    if (node != null) {
      node.told &= fit;
      node.untoldNanos = fit ? 0 : node.untoldNanos;
    }
  }

  /** Handles a member's heartbeat. */
  public void onHeartbeat(long link, Set<String> unreachable, long pausedMillis) {
    NodeRecord node = byLink.get(link);
    if (node != null) {
      node.unreachable = unreachable;
      node.pausedMillis = pausedMillis > 0 ? pausedMillis : node.pausedMillis;
    }
  }

  /** Handles a closed link: silence begins, and the node's port is dialled. */
  public List<MemberAction> onLinkClosed(long link) {
    joining.values().removeIf(each -> each.link == link);
    NodeRecord node = byLink.remove(link);
    if (node != null) {
      node.link = NodeRecord.NO_LINK;
      probe(node);
    }
    return done();
  }

  private void endLink(long link, String reason) {
    if (link != NodeRecord.NO_LINK) {
      byLink.remove(link);
      actions.add(new EndLink(link, reason));
    }
  }

  private void probe(NodeRecord node) {
    NodeInfo info = node.info;
    if (info != null && node.ending == null && !node.isDialled && !isSelf(node.who)) {
      node.isDialled = true;
      actions.add(new ProbePort(node.who, info.host(), info.ports().data()));
    }
  }

  /** Handles the result of a dial. {@code refused}: no process listens on the port. */
  public List<MemberAction> onProbeResult(NodeRegistration who, boolean refused) {
    NodeRecord node = nodes.get(who.name());
    if (node != null && node.who.equals(who)) {
      node.isDialled = false;
      if (refused && (!node.hasLink() || node.suspected)) {
        end(node, new RemovedAsLost(who, "connection refused"));
      }
    }
    return done();
  }

  // --- silence ---

  /** Runs once per interval, after the sockets were read. */
  public List<MemberAction> sweep(long nowNanos) {
    long nanos = Math.min(nowNanos - sweptNanos, 2 * rules.intervalNanos());
    sweptNanos = nowNanos;
    guard.pass(nanos);
    nodes.values().forEach(each -> each.sweep(nanos));
    cutOff = mayBeCutOff();
    nodes.values().forEach(this::checkSilence);
    return done();
  }

  private void checkSilence(NodeRecord node) {
    boolean came = node.info != null;
    long overdue = node.silentNanos - (came ? rules.timeoutNanos() : comeNanos());
    if (overdue > 0 && came && !node.suspected) {
      node.suspected = true;
      actions.add(new SuspicionChanged(member(node), true));
    }
    if (overdue > (came && cutOff ? HOLD_NANOS : 0)) {
      long millis = TimeUnit.NANOSECONDS.toMillis(node.silentNanos);
      end(node, new RemovedAsLost(node.who, "silent for " + millis + " ms"));
    } else if (came && node.untoldNanos > comeNanos()) {
      // a recovery waits for the inventory
      end(node, new RemovedAsLost(node.who, "it does not send its inventory"));
    }
    if (!node.hasLink() || node.suspected) {
      probe(node);
    }
    commit(node);
  }

  private long comeNanos() {
    return Math.max(COME_NANOS, rules.timeoutNanos());
  }

  /**
   * Returns whether more than half of the other nodes, at least two, fall silent at once. When one
   * node reaches the timeout, nodes that are silent for half of the timeout count.
   */
  private boolean mayBeCutOff() {
    int others = 0;
    int silent = 0;
    boolean due = false;
    for (NodeRecord each : nodes.values()) {
      if (each.info != null && !isSelf(each.who) && each.ending == null) {
        others++;
        silent += each.silentNanos > rules.timeoutNanos() / 2 ? 1 : 0;
        due |= each.silentNanos > rules.timeoutNanos();
      }
    }
    return due && silent >= 2 && 2 * silent > others;
  }

  // --- departure ---

  /** Handles LEAVING from a node. */
  public List<MemberAction> onLeaving(long link) {
    NodeRecord node = byLink.get(link);
    if (node != null) {
      leave(node);
    }
    return done();
  }

  private void leave(NodeRecord node) {
    if (!node.leaving) {
      node.leaving = true;
      actions.add(new MemberLeaving(member(node)));
    }
  }

  /** Removes a leaving node, which has no replicas left. */
  public List<MemberAction> onNodeDrained(String name) {
    NodeRecord node = nodes.get(name);
    if (node != null && node.leaving) {
      end(node, new RemovedAsLeft(node.who));
    }
    return done();
  }

  /** Cordons a node name, or ends the cordon. Survives the process. */
  public List<MemberAction> cordon(String name, boolean on) {
    cordoned.remove(name);
    if (on) {
      cordoned.add(name);
    }
    return done();
  }

  // --- removal ---

  /** Decides a removal. The controller's own node is never lost. */
  private void end(NodeRecord node, NodeRemoved how) {
    if (node.ending == null && (how instanceof RemovedAsLeft || !isSelf(node.who))) {
      node.ending = how;
      commit(node);
    }
  }

  private void commit(NodeRecord node) {
    if (node.ending != null && !node.isCommitted && guard.standsBy() == null) {
      node.isCommitted = true;
      actions.add(new CommitRemoval(node.ending));
    }
  }

  /** Handles the result of a removal's commit. The next sweep repeats a failed proposal. */
  public List<MemberAction> onRemovalResult(NodeRegistration who, boolean committed) {
    NodeRecord node = nodes.get(who.name());
    if (node != null && node.who.equals(who)) {
      node.isCommitted = false;
      if (committed) {
        nodes.remove(who.name());
        announce(node, Objects.requireNonNull(node.ending));
      }
    }
    return done();
  }

  private void announce(NodeRecord node, NodeRemoved gone) {
    if (gone instanceof RemovedAsLost lost) {
      endLink(node.link, "lost: " + lost.reason());
    } else if (node.hasLink()) {
      byLink.remove(node.link);
      actions.add(new ConfirmLeave(node.link));
    }
    actions.add(gone);
  }

  // --- publication ---

  /**
   * Ends a step and publishes changes, but not before each registered node has sent HELLO or is
   * lost: other nodes would treat a missing node as removed.
   */
  private List<MemberAction> done() {
    List<Member> now =
        nodes.values().stream().filter(each -> each.info != null).map(this::member).toList();
    if (guard.standsBy() == null && awaited().isEmpty() && !now.equals(told.list())) {
      ClusterEpoch own = authority.get();
      told = new MemberList(own.generation(), own.term(), told.count() + 1, now);
      actions.add(new PublishMembers(told));
    }
    List<MemberAction> all = List.copyOf(actions);
    actions.clear();
    return all;
  }

  /** Returns the last published list. */
  public MemberList members() {
    return told;
  }

  /** Returns why the controller does not command; null when it does. */
  public @Nullable String standsBy() {
    return guard.standsBy();
  }

  /**
   * Returns why operators' requests are refused, or null. Either the controller stands by, or it
   * has no other nodes and nodes of another cluster connect.
   */
  public @Nullable String closedReason() {
    boolean alone = nodes.size() < 2 && nodes.values().stream().allMatch(each -> isSelf(each.who));
    return guard.closedReason(alone);
  }

  /** Returns the current status. */
  public MembershipStatus status() {
    List<NodeStatus> came =
        nodes.values().stream().filter(each -> each.info != null).map(this::status).toList();
    return new MembershipStatus(
        came, awaited(), cutOff, guard.standsBy(), guard.strangers() != null);
  }

  private NodeStatus status(NodeRecord node) {
    List<String> unreachableFrom =
        nodes.values().stream()
            .filter(each -> each.unreachable.contains(node.who.name()))
            .map(each -> each.who.name())
            .toList();
    long silentMillis = TimeUnit.NANOSECONDS.toMillis(node.silentNanos);
    return new NodeStatus(member(node), silentMillis, node.pausedMillis, unreachableFrom);
  }

  private List<String> awaited() {
    return nodes.values().stream()
        .filter(each -> each.info == null)
        .map(each -> each.who.name())
        .toList();
  }

  private Member member(NodeRecord node) {
    return node.member(cordoned.contains(node.who.name()));
  }

  private boolean isSelf(NodeRegistration who) {
    return who.name().equals(rules.node()) && who.process().equals(rules.process());
  }
}

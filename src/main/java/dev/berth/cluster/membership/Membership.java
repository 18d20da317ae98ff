package dev.berth.cluster.membership;

import dev.berth.cluster.membership.Handshake.Hello;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.MemberAction.Commit;
import dev.berth.cluster.membership.MemberAction.Dial;
import dev.berth.cluster.membership.MemberAction.End;
import dev.berth.cluster.membership.MemberAction.Farewell;
import dev.berth.cluster.membership.MemberAction.Gone;
import dev.berth.cluster.membership.MemberAction.Greet;
import dev.berth.cluster.membership.MemberAction.Leaves;
import dev.berth.cluster.membership.MemberAction.Left;
import dev.berth.cluster.membership.MemberAction.Lost;
import dev.berth.cluster.membership.MemberAction.Refuse;
import dev.berth.cluster.membership.MemberAction.Register;
import dev.berth.cluster.membership.MemberAction.StandBy;
import dev.berth.cluster.membership.MemberAction.Suspect;
import dev.berth.cluster.membership.MemberAction.Tell;
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
 * Who is a node, as the controller has it. A process moves
 *
 * <pre>
 *   unknown --HELLO, committed--> alive --silence--> suspected --committed--> lost
 *                                 alive --LEAVING--> leaving --committed--> left
 * </pre>
 *
 * and comes back from lost by a HELLO alone, under another number. Nothing is announced before it
 * is committed, and what was once to be committed is so until it is: a proposal that failed may
 * come true yet. Silence is not what a clock says but what sweeps found, each of which counts for
 * two intervals at most, so that a controller that stood still finds nobody silent for that.
 *
 * <p>It is told of what happens and answers with what it wants done. One thread.
 */
public final class Membership {
  /** So long may a node that was registered before take to come, in silence of the controller's. */
  public static final long COME_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Nodes at a time; more are refused. */
  static final int MOST_NODES = 1_000;

  /** So much longer may they be silent of whom too many are at once. */
  public static final long HOLD_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final MembershipRules rules;
  private final Supplier<Authority> authority;
  private final StateGuard guard;
  private final Map<String, KnownNode> nodes = new LinkedHashMap<>(); // by name
  private final Map<Long, KnownNode> byLink = new HashMap<>(); // of those that were greeted
  private final Map<String, Joining> joining = new HashMap<>(); // to be committed, by name
  private final Set<String> cordoned = new HashSet<>(); // names, be they of nodes or not
  private final List<MemberAction> actions = new ArrayList<>(); // of the step under way
  private Members told = Members.NONE;
  private long sweptNanos;
  private boolean cutOff; // by the last sweep

  /** A HELLO that is being committed. */
  private record Joining(Hello hello, long link) {}

  /**
   * @param authority of this controller, which only ever rises
   * @param includes whether its state has the last command of another of the same generation
   */
  public Membership(
      MembershipRules rules,
      Supplier<Authority> authority,
      Predicate<Authority> includes,
      long nowNanos) {
    this.rules = rules;
    this.authority = authority;
    this.guard = new StateGuard(authority, includes);
    this.sweptNanos = nowNanos;
  }

  /** What is registered when it begins: each has {@link #COME_NANOS} to come. */
  public List<MemberAction> start(Collection<Registered> known) {
    expect(known);
    return done();
  }

  // --- joining ---

  /**
   * @param stranger why it is not who it says, by its certificate; null when it is
   */
  public List<MemberAction> hello(long link, Hello hello, @Nullable String stranger) {
    String refused = rules.refuses(hello, stranger);
    if (refused == null) {
      refused = fenced(hello.seen());
    }
    if (refused == null) {
      refused = welcome(link, hello);
    }
    if (refused != null) {
      actions.add(new Refuse(link, hello.node().name(), refused));
    }
    return done();
  }

  /** A controller is refused by nodes that know better, and then refuses all. */
  private @Nullable String fenced(@Nullable Authority seen) {
    String before = guard.standsBy();
    String refused = guard.refuses(seen);
    String now = guard.standsBy();
    if (now != null && before == null) {
      actions.add(new StandBy(now));
    }
    return refused;
  }

  /** It commands nobody from now on, for the first reason. */
  public List<MemberAction> standsBy(String reason) {
    if (guard.standBy(reason)) {
      actions.add(new StandBy(reason));
    }
    return done();
  }

  /** Why it is not let in, or not yet; null when it is, or its registration is asked for. */
  private @Nullable String welcome(long link, Hello hello) {
    String name = hello.node().name();
    String process = hello.node().process();
    KnownNode known = nodes.get(name);
    Joining before = joining.get(name);
    if (known != null && known.who.process().equals(process) && known.ending == null) {
      greet(known, link, hello);
      return null;
    }
    if (known != null || before != null && !before.hello.node().process().equals(process)) {
      return "process: another of %s is not lost yet (expected: asked again)".formatted(name);
    }
    if (before == null && nodes.size() + joining.size() >= MOST_NODES) {
      return "nodes: %d (expected: fewer)".formatted(MOST_NODES);
    }
    if (before == null && hello.leaving()) {
      actions.add(new Farewell(link));
      return null;
    }
    joining.put(name, new Joining(hello, link));
    if (before == null) {
      actions.add(new Register(name, process));
    } else {
      endLink(before.link, "it called again");
    }
    return null;
  }

  private void greet(KnownNode node, long link, Hello hello) {
    endLink(node.link, "it called again");
    byLink.put(link, node);
    node.link = link;
    node.told = false;
    node.info = hello.node();
    hear(node);
    boolean fresh = hello.registration() != node.who.number();
    Welcome welcome = new Welcome(authority.get(), rules.node(), node.who.number(), fresh);
    actions.add(new Greet(link, welcome, member(node)));
    if (hello.leaving()) {
      leave(node);
    }
  }

  /**
   * Its registration was to be committed.
   *
   * @param known that are registered: it is one of them if it was
   */
  public List<MemberAction> registered(String name, Collection<Registered> known) {
    Joining joined = joining.remove(name);
    expect(known);
    if (joined != null) {
      KnownNode node = nodes.get(name);
      if (node != null && node.who.process().equals(joined.hello.node().process())) {
        greet(node, joined.link, joined.hello);
      } else {
        String reason = "registration: not committed (expected: asked again)";
        actions.add(new Refuse(joined.link, name, reason));
      }
    }
    return done();
  }

  /** An earlier process of the controller's own node is gone, since this one is there. */
  private void expect(Collection<Registered> known) {
    for (Registered who : known) {
      KnownNode node = new KnownNode(who);
      if (nodes.putIfAbsent(who.name(), node) == null
          && who.name().equals(rules.node())
          && !isSelf(who)) {
        end(node, new Lost(who, "its node runs another process"));
      }
    }
  }

  // --- links ---

  /** Anything came; a link that is no member's ends. */
  public List<MemberAction> heard(long link) {
    KnownNode node = byLink.get(link);
    if (node == null) {
      actions.add(new End(link, "not a member's (expected: HELLO, and WELCOME)"));
    } else {
      hear(node);
    }
    return done();
  }

  private void hear(KnownNode node) {
    node.hear();
    if (node.suspected) {
      node.suspected = false;
      actions.add(new Suspect(member(node), false));
    }
  }

  /** A member told what it runs, which will be {@link #taken}; {@link #heard} was told before. */
  public void told(long link) {
    KnownNode node = byLink.get(link);
    if (node != null) {
      node.told = true;
    }
  }

  /** The controller has what a member told, or cannot take it. */
  public void taken(long link, boolean fit) {
    KnownNode node = byLink.get(link);
    if (node != null) {
      node.told &= fit;
      node.untoldNanos = fit ? 0 : node.untoldNanos;
    }
  }

  /** What a member says of itself in each beat; {@link #heard} was told before. */
  public void beat(long link, Set<String> unreachable, long pausedMillis) {
    KnownNode node = byLink.get(link);
    if (node != null) {
      node.unreachable = unreachable;
      node.pausedMillis = pausedMillis > 0 ? pausedMillis : node.pausedMillis;
    }
  }

  /** A link has ended: that is silence, and a reason to look at its port. */
  public List<MemberAction> closed(long link) {
    joining.values().removeIf(each -> each.link == link);
    KnownNode node = byLink.remove(link);
    if (node != null) {
      node.link = KnownNode.NO_LINK;
      dial(node);
    }
    return done();
  }

  private void endLink(long link, String reason) {
    if (link != KnownNode.NO_LINK) {
      byLink.remove(link);
      actions.add(new End(link, reason));
    }
  }

  private void dial(KnownNode node) {
    NodeInfo info = node.info;
    if (info != null && node.ending == null && !node.isDialled && !isSelf(node.who)) {
      node.isDialled = true;
      actions.add(new Dial(node.who, info.host(), info.ports().data()));
    }
  }

  /**
   * @param refused whether the port refused: whoever listened there is gone
   */
  public List<MemberAction> dialled(Registered who, boolean refused) {
    KnownNode node = nodes.get(who.name());
    if (node != null && node.who.equals(who)) {
      node.isDialled = false;
      if (refused && (!node.hasLink() || node.suspected)) {
        end(node, new Lost(who, "its port refuses"));
      }
    }
    return done();
  }

  // --- silence ---

  /** Once in each interval, after the sockets were read. */
  public List<MemberAction> sweep(long nowNanos) {
    long nanos = Math.min(nowNanos - sweptNanos, 2 * rules.intervalNanos());
    sweptNanos = nowNanos;
    guard.pass(nanos);
    nodes.values().forEach(each -> each.sweep(nanos));
    cutOff = mayBeCutOff();
    nodes.values().forEach(this::look);
    return done();
  }

  private void look(KnownNode node) {
    boolean came = node.info != null;
    long overdue = node.silentNanos - (came ? rules.timeoutNanos() : comeNanos());
    if (overdue > 0 && came && !node.suspected) {
      node.suspected = true;
      actions.add(new Suspect(member(node), true));
    }
    if (overdue > (came && cutOff ? HOLD_NANOS : 0)) {
      long millis = TimeUnit.NANOSECONDS.toMillis(node.silentNanos);
      end(node, new Lost(node.who, "silent for " + millis + " ms"));
    } else if (came && node.untoldNanos > comeNanos()) {
      end(node, new Lost(node.who, "it does not tell what it runs")); // a recovery waits for that
    }
    if (!node.hasLink() || node.suspected) {
      dial(node);
    }
    commit(node);
  }

  private long comeNanos() {
    return Math.max(COME_NANOS, rules.timeoutNanos());
  }

  /**
   * Whether more than half of the others, two at least, fall silent at once: those that are so for
   * half the time-out when the first of them is for all of it.
   */
  private boolean mayBeCutOff() {
    int others = 0;
    int silent = 0;
    boolean due = false;
    for (KnownNode each : nodes.values()) {
      if (each.info != null && !isSelf(each.who) && each.ending == null) {
        others++;
        silent += each.silentNanos > rules.timeoutNanos() / 2 ? 1 : 0;
        due |= each.silentNanos > rules.timeoutNanos();
      }
    }
    return due && silent >= 2 && 2 * silent > others;
  }

  // --- goodbye ---

  /** A node says goodbye on its link. */
  public List<MemberAction> leaving(long link) {
    KnownNode node = byLink.get(link);
    if (node != null) {
      leave(node);
    }
    return done();
  }

  private void leave(KnownNode node) {
    if (!node.leaving) {
      node.leaving = true;
      actions.add(new Leaves(member(node)));
    }
  }

  /** Of a node that said goodbye nothing runs any more. */
  public List<MemberAction> gone(String name) {
    KnownNode node = nodes.get(name);
    if (node != null && node.leaving) {
      end(node, new Left(node.who));
    }
    return done();
  }

  /** Whether a node is to get no new work; kept for the name, whatever becomes of its process. */
  public List<MemberAction> cordon(String name, boolean on) {
    cordoned.remove(name);
    if (on) {
      cordoned.add(name);
    }
    return done();
  }

  // --- the end ---

  /** The controller's own node is there for as long as the controller is. */
  private void end(KnownNode node, Gone how) {
    if (node.ending == null && (how instanceof Left || !isSelf(node.who))) {
      node.ending = how;
      commit(node);
    }
  }

  private void commit(KnownNode node) {
    if (node.ending != null && !node.isCommitted && guard.standsBy() == null) {
      node.isCommitted = true;
      actions.add(new Commit(node.ending));
    }
  }

  /**
   * That a node is lost, or has left, was to be committed.
   *
   * @param committed whether it was; else it is asked for again
   */
  public List<MemberAction> ended(Registered who, boolean committed) {
    KnownNode node = nodes.get(who.name());
    if (node != null && node.who.equals(who)) {
      node.isCommitted = false;
      if (committed) {
        nodes.remove(who.name());
        announce(node, Objects.requireNonNull(node.ending));
      }
    }
    return done();
  }

  private void announce(KnownNode node, Gone gone) {
    if (gone instanceof Lost lost) {
      endLink(node.link, "lost: " + lost.reason());
    } else if (node.hasLink()) {
      byLink.remove(node.link);
      actions.add(new Farewell(node.link));
    }
    actions.add(gone);
  }

  // --- what is told ---

  /**
   * Ends a step. What has changed is told to all, but not before each node that was registered has
   * come or is lost: others would think that it is none.
   */
  private List<MemberAction> done() {
    List<Member> now =
        nodes.values().stream().filter(each -> each.info != null).map(this::member).toList();
    if (guard.standsBy() == null && awaited().isEmpty() && !now.equals(told.list())) {
      Authority own = authority.get();
      told = new Members(own.generation(), own.term(), told.count() + 1, now);
      actions.add(new Tell(told));
    }
    List<MemberAction> all = List.copyOf(actions);
    actions.clear();
    return all;
  }

  /** As it was told last. */
  public Members members() {
    return told;
  }

  /** Why the controller commands nobody; null when it does. */
  public @Nullable String standsBy() {
    return guard.standsBy();
  }

  /**
   * Returns why operators get no answer: the controller stands by, or nodes of another cluster call
   * and it has none of its own. Null when they do.
   */
  public @Nullable String closed() {
    boolean alone = nodes.values().stream().allMatch(each -> isSelf(each.who));
    return guard.closed(alone);
  }

  /** As it is now. */
  public MembershipStatus status() {
    List<NodeStatus> came =
        nodes.values().stream().filter(each -> each.info != null).map(this::status).toList();
    return new MembershipStatus(
        came, awaited(), cutOff, guard.standsBy(), guard.strangers() != null);
  }

  private NodeStatus status(KnownNode node) {
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

  private Member member(KnownNode node) {
    return node.member(cordoned.contains(node.who.name()));
  }

  private boolean isSelf(Registered who) {
    return who.name().equals(rules.node()) && who.process().equals(rules.process());
  }
}

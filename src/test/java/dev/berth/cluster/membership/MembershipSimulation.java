package dev.berth.cluster.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.berth.cluster.membership.Handshake.Hello;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.MemberAction.CommitLeft;
import dev.berth.cluster.membership.MemberAction.CommitLost;
import dev.berth.cluster.membership.MemberAction.Dial;
import dev.berth.cluster.membership.MemberAction.End;
import dev.berth.cluster.membership.MemberAction.Farewell;
import dev.berth.cluster.membership.MemberAction.Greet;
import dev.berth.cluster.membership.MemberAction.Left;
import dev.berth.cluster.membership.MemberAction.Lost;
import dev.berth.cluster.membership.MemberAction.Refuse;
import dev.berth.cluster.membership.MemberAction.Register;
import dev.berth.cluster.membership.MemberAction.StandBy;
import dev.berth.cluster.membership.MemberAction.Tell;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A controller on n1 and one to six other nodes, in simulated milliseconds: bytes that a direction
 * does not let through arrive later, in order; whoever is paused finds them when it goes on. Every
 * step of the membership is held against its promises.
 */
final class MembershipSimulation {
  /** What befalls a node or, where it says so, the controller. */
  enum Fault {
    PAUSE,
    KILL,
    BLOCK_TO_CONTROLLER,
    BLOCK_TO_NODE,
    BLOCK_BOTH,
    BREAK_LINK,
    LEAVE,
    PAUSE_CONTROLLER,
    RESTART_CONTROLLER,
    CUT_OFF_CONTROLLER
  }

  private static final long STEP = 50;
  private static final long INTERVAL = 500;
  private static final long TIMEOUT = 3_000;
  private static final long FAULTS_END = 150_000;
  private static final long END = FAULTS_END + 60_000;

  /** A node that nothing has befallen for so long is not to be lost. */
  private static final long HEALTHY = TIMEOUT + 2_000;

  private final SplittableRandom random;
  private final Map<String, Node> nodes = new TreeMap<>();
  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::at).thenComparingLong(Event::order));
  private final List<Runnable> toController = new ArrayList<>(); // arrived
  private final Map<String, Registered> registry = new TreeMap<>(); // what is committed
  private final Map<String, Long> live = new HashMap<>(); // numbers announced, by name
  private final Map<Fault, Integer> faults = new EnumMap<>(Fault.class);
  private final Set<Registered> asked = new HashSet<>(); // to be lost, by this controller
  private Membership membership;
  private long now;
  private long order;
  private long lastNumber;
  private long lastLink;
  private long term = 1; // a controller that is gone does nothing more
  private long controllerPausedUntil;
  private long sweptAt;
  private int lost;
  private boolean doubted;
  private long hash;

  private record Event(long at, long order, Runnable task) {}

  /** One name, and the process that has it now. */
  private static final class Node {
    final String name;
    String process = "";
    boolean runs = true;
    boolean leaving;
    long pausedUntil;
    long toControllerBlockedUntil;
    long toNodeBlockedUntil;
    long befallenUntil; // anything that may make it silent
    long lastToController; // when the last bytes arrive
    long lastToNode;
    long link; // 0 for none
    boolean greeted;
    long registration;
    long heardAt;
    long tryAt;
    long beatAt;

    Node(String name) {
      this.name = name;
    }

    boolean isPaused(long now) {
      return now < pausedUntil;
    }
  }

  MembershipSimulation(long seed) {
    random = new SplittableRandom(seed);
    int count = 2 + random.nextInt(6);
    for (int i = 1; i <= count; i++) {
      Node node = new Node("n" + i);
      node.process = node.name + "-0";
      nodes.put(node.name, node);
    }
    membership = begin();
  }

  /** What a run came to. */
  record Outcome(long hash, int lost, boolean doubted, Map<Fault, Integer> faults) {}

  Outcome run() {
    for (; now < END; now += STEP) {
      while (!events.isEmpty() && events.peek().at <= now) {
        events.poll().task.run();
      }
      if (now < FAULTS_END && random.nextInt(60) == 0) {
        befall(Fault.values()[random.nextInt(Fault.values().length)]);
      }
      nodes.values().forEach(this::step);
      stepController();
    }
    assertThat(membership.members().list())
        .extracting(each -> each.node().name(), each -> each.node().process(), Member::registration)
        .containsExactlyInAnyOrderElementsOf(
            nodes.values().stream()
                .map(each -> tuple(each.name, each.process, registry.get(each.name).number()))
                .toList());
    assertThat(membership.members().list()).allMatch(each -> each.state() == Member.State.ALIVE);
    assertThat(registry).hasSize(nodes.size());
    return new Outcome(hash, lost, doubted, faults);
  }

  // --- the controller ---

  private Membership begin() {
    Node self = nodes.get("n1");
    MembershipRules rules =
        new MembershipRules(
            "prod", "n1", self.process, Set.of("n1"), nanos(INTERVAL), nanos(TIMEOUT));
    long ofTerm = term;
    Membership made = new Membership(rules, () -> new Authority("id", 1, ofTerm, 1), nanos(now));
    membership = made;
    act(made.start(List.copyOf(registry.values())));
    return made;
  }

  private void stepController() {
    if (now < controllerPausedUntil) {
      return;
    }
    List<Runnable> arrived = List.copyOf(toController);
    toController.clear();
    arrived.forEach(Runnable::run);
    if (now - sweptAt >= INTERVAL) {
      sweptAt = now;
      act(membership.sweep(nanos(now)));
      doubted |= membership.status().cutOff() || membership.standsBy() != null;
    }
  }

  private void act(List<MemberAction> actions) {
    for (MemberAction action : actions) {
      hash = hash * 31 + action.hashCode();
      act(action);
    }
  }

  private void act(MemberAction action) {
    if (action instanceof Register it) {
      commit(() -> register(it), ok -> registered(it, ok));
    } else if (action instanceof CommitLost it) {
      mayBeLost(it);
      commit(() -> registry.values().remove(it.who()), ok -> act(membership.ended(it.who(), ok)));
    } else if (action instanceof CommitLeft it) {
      commit(() -> registry.values().remove(it.who()), ok -> act(membership.ended(it.who(), ok)));
    } else if (action instanceof Lost it) {
      over(it.who());
      lost++;
    } else if (action instanceof Left it) {
      over(it.who());
    } else if (action instanceof Greet it) {
      greet(it);
    } else if (action instanceof Refuse it) {
      toNode(it.link(), node -> close(node, 1_000));
    } else if (action instanceof End it) {
      toNode(it.link(), node -> close(node, 100));
    } else if (action instanceof Farewell it) {
      toNode(it.link(), this::restart);
    } else if (action instanceof Dial it) {
      dial(it.who());
    } else if (action instanceof Tell it) {
      assertThat(it.members().list())
          .extracting(each -> each.node().name())
          .doesNotHaveDuplicates();
    }
    assertThat(action).isNotInstanceOf(StandBy.class);
  }

  /**
   * Of ten, one is not known to have come true, and of two such one has. What a controller of an
   * earlier term proposed comes true before the next one begins, or never.
   */
  private void commit(Runnable change, Consumer<Boolean> told) {
    long ofTerm = term;
    boolean known = random.nextInt(10) != 0;
    boolean comesTrue = known || random.nextBoolean();
    long decided = now + 10 + random.nextInt(300);
    at(
        decided,
        () -> {
          if (comesTrue && ofTerm == term) {
            change.run();
          }
        });
    at(decided + random.nextInt(100), () -> toController(ofTerm, () -> told.accept(known)));
  }

  /** What was meant for a controller that is gone reaches nobody. */
  private void toController(long ofTerm, Runnable message) {
    toController.add(
        () -> {
          if (ofTerm == term) {
            message.run();
          }
        });
  }

  private void register(Register it) {
    registry.computeIfAbsent(it.name(), name -> new Registered(name, it.process(), ++lastNumber));
  }

  private void registered(Register it, boolean known) {
    Registered now = registry.get(it.name());
    if (known && now != null && now.process().equals(it.process())) {
      act(membership.registered(now));
    } else {
      act(membership.unregistered(it.name(), List.copyOf(registry.values())));
    }
  }

  private void dial(Registered who) {
    Node node = nodes.get(who.name());
    boolean blocked = Math.max(node.toControllerBlockedUntil, node.toNodeBlockedUntil) > now;
    long ofTerm = term;
    after(
        blocked ? 2_000 : 1 + random.nextInt(100),
        () -> {
          boolean refused = !blocked && !node.runs;
          toController(ofTerm, () -> act(membership.dialled(who, refused)));
        });
  }

  // --- its promises ---

  /** It is committed, no other number of its name is announced, and a new one says so. */
  private void greet(Greet it) {
    Member member = it.member();
    String name = member.node().name();
    Registered who = new Registered(name, member.node().process(), member.registration());
    assertThat(registry).containsEntry(name, who);
    assertThat(live.getOrDefault(name, who.number())).isEqualTo(who.number());
    live.put(name, who.number());
    toNode(it.link(), node -> welcome(node, it.welcome()));
  }

  private void over(Registered who) {
    assertThat(registry.values()).doesNotContain(who);
    live.remove(who.name(), who.number());
  }

  /** Only when something befell it; what was asked for once is so until it is committed. */
  private void mayBeLost(CommitLost it) {
    Node node = nodes.get(it.who().name());
    boolean gone = !node.runs || !node.process.equals(it.who().process());
    if (asked.add(it.who()) && !gone) {
      assertThat(now - node.befallenUntil).as("%s at %d", it, now).isLessThan(HEALTHY);
      assertThat(node.name).isNotEqualTo("n1");
    }
  }

  // --- the nodes ---

  private void step(Node node) {
    if (!node.runs || node.isPaused(now)) {
      return;
    }
    if (node.link != 0 && now - node.heardAt > TIMEOUT) {
      close(node, 100 + random.nextInt(900));
    }
    if (node.link == 0 && now >= node.tryAt) {
      call(node);
    }
    if (node.greeted && now >= node.beatAt) {
      node.beatAt = now + INTERVAL;
      long link = node.link;
      toController(node, () -> act(membership.heard(link)));
      toNode(link, heard -> {});
    }
  }

  private void call(Node node) {
    node.link = ++lastLink;
    node.heardAt = now;
    NodeInfo info = MembershipRig.node(node.name, node.process);
    Hello hello = new Hello(Handshake.VERSION, "prod", info, node.registration, node.leaving, null);
    long link = node.link;
    toController(node, () -> act(membership.hello(link, hello, null)));
  }

  private void welcome(Node node, Welcome welcome) {
    assertThat(welcome.fresh()).isEqualTo(node.registration != welcome.registration());
    node.registration = welcome.registration();
    node.greeted = true;
  }

  private void close(Node node, long retry) {
    long link = node.link;
    node.link = 0;
    node.greeted = false;
    node.tryAt = now + retry;
    if (link != 0) {
      toController(node, () -> act(membership.closed(link)));
    }
  }

  private void restart(Node node) {
    kill(node, 100 + random.nextInt(15_000));
  }

  private void kill(Node node, long forMillis) {
    node.runs = false;
    close(node, 0);
    after(
        forMillis,
        () -> {
          if (!node.runs) {
            node.runs = true;
            node.leaving = false;
            node.registration = 0;
            node.process = node.name + "-" + ++order;
          }
        });
  }

  /** What a node sends arrives, in its order, when it is let through; in its own time. */
  private void toController(Node node, Runnable message) {
    long arrives = Math.max(now + 1 + random.nextInt(40), node.toControllerBlockedUntil);
    node.lastToController = Math.max(arrives, node.lastToController);
    long ofTerm = term;
    at(node.lastToController, () -> toController(ofTerm, message));
  }

  /** To whoever has the link when it arrives. */
  private void toNode(long link, Consumer<Node> message) {
    for (Node node : nodes.values()) {
      if (node.link == link) {
        long arrives = Math.max(now + 1 + random.nextInt(40), node.toNodeBlockedUntil);
        node.lastToNode = Math.max(arrives, node.lastToNode);
        at(node.lastToNode, () -> arrive(node, link, message));
      }
    }
  }

  private void arrive(Node node, long link, Consumer<Node> message) {
    if (node.isPaused(now)) {
      at(node.pausedUntil, () -> arrive(node, link, message));
    } else if (node.link == link && node.runs) {
      node.heardAt = now;
      message.accept(node);
    }
  }

  // --- faults ---

  private void befall(Fault fault) {
    faults.merge(fault, 1, Integer::sum);
    List<Node> others = nodes.values().stream().filter(each -> !each.name.equals("n1")).toList();
    Node node = others.get(random.nextInt(others.size()));
    long until = now + 500 + random.nextInt(10_000);
    switch (fault) {
      case PAUSE -> {
        node.pausedUntil = until;
        befallen(node, until);
      }
      case KILL -> restart(node);
      case BLOCK_TO_CONTROLLER -> block(node, until, 0);
      case BLOCK_TO_NODE -> block(node, 0, until);
      case BLOCK_BOTH -> block(node, until, until);
      case BREAK_LINK -> close(node, 100);
      case LEAVE -> leave(node);
      case PAUSE_CONTROLLER -> controllerPausedUntil = until;
      case RESTART_CONTROLLER -> restartController();
      case CUT_OFF_CONTROLLER -> others.forEach(each -> block(each, until, until));
    }
  }

  private void befallen(Node node, long until) {
    node.befallenUntil = Math.max(node.befallenUntil, until);
  }

  private void block(Node node, long toController, long toNode) {
    node.toControllerBlockedUntil = Math.max(node.toControllerBlockedUntil, toController);
    node.toNodeBlockedUntil = Math.max(node.toNodeBlockedUntil, toNode);
    befallen(node, Math.max(toController, toNode));
  }

  private void leave(Node node) {
    if (node.greeted && !node.leaving) {
      node.leaving = true;
      long link = node.link;
      toController(node, () -> act(membership.leaving(link)));
      goneLater(node.name, node.process);
    }
  }

  /** Its replicas stop, however often the controller is another one meanwhile. */
  private void goneLater(String name, String process) {
    after(
        1_000,
        () -> {
          Node node = nodes.get(name);
          if (node.runs && node.process.equals(process)) {
            toController.add(() -> act(membership.gone(name)));
            goneLater(name, process);
          }
        });
  }

  /** With another process of its node. */
  private void restartController() {
    term++;
    toController.clear();
    controllerPausedUntil = 0;
    live.clear();
    asked.clear();
    Node self = nodes.get("n1");
    self.process = "n1-" + ++order;
    self.registration = 0;
    nodes.values().forEach(each -> close(each, 100 + random.nextInt(900)));
    begin();
  }

  private void after(long millis, Runnable task) {
    at(now + millis, task);
  }

  private void at(long time, Runnable task) {
    events.add(new Event(time, ++order, task));
  }

  private static long nanos(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }
}

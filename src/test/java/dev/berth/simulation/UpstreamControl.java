package dev.berth.simulation;

import dev.berth.controller.Controller;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.GrantUpstreams;
import dev.berth.controller.ControllerAction.ProbeOwner;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerPorts;
import dev.berth.controller.Epoch;
import dev.berth.controller.UpstreamGrant;
import dev.berth.desired.NodeRegistry;
import dev.berth.simulation.UpstreamOwnersSimulation.NodeMachine;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The leading process of the control nodes: the real controller, and a model of the membership and
 * of {@code ControlRole}.
 */
final class UpstreamControl {
  private static final long SWEEP_MS = 500;

  /** A registered process. */
  private static final class MemberRecord {
    final String bus;
    final long number;
    @Nullable ControlConnection link;
    long silentNanos;
    boolean came; // sent a HELLO
    boolean suspected;
    boolean leaving;
    boolean commanded; // its inventory was applied
    @Nullable ControllerEvent ending;
    boolean isCommitting;

    MemberRecord(String bus, long number) {
      this.bus = bus;
      this.number = number;
    }
  }

  private final UpstreamOwnersSimulation sim;
  final UpstreamOwner host;
  private final Map<String, MemberRecord> members = new TreeMap<>(); // by name
  private final Map<String, ControlConnection> joining = new HashMap<>(); // by name
  private @Nullable Controller controller;
  private boolean isGranting;
  private long armedNanos = Long.MAX_VALUE;
  private int timer;
  private long sweptNanos;

  UpstreamControl(UpstreamOwnersSimulation sim, UpstreamOwner host) {
    this.sim = sim;
    this.host = host;
  }

  void start() {
    host.closeLink();
    sweptNanos = host.nanos();
    expect();
    next();
    sweep();
  }

  private boolean leads() {
    return sim.control == this && host.alive;
  }

  private void after(double millis, Runnable task) {
    host.after(
        millis,
        () -> {
          if (leads()) {
            task.run();
          }
        });
  }

  // --- the controller ---

  /** Replaces the controller by one of a later term, in the same process. */
  void restart() {
    controller = null;
    after(sim.random.nextInt(200), this::next);
  }

  private void next() {
    Controller made =
        new Controller(
            new ControllerPorts(
                new Epoch(0, ++sim.term, host.bus),
                deployment -> "m" + ++sim.replicas,
                replica -> -1,
                sim.random::nextDouble,
                () -> 0,
                Controller.MIN_SILENCE_NANOS,
                sim.leaseMillis,
                settings -> Map.of()));
    controller = made;
    armedNanos = Long.MAX_VALUE;
    Set<String> nodes = new LinkedHashSet<>(List.of(host.bus));
    sim.log.registry.nodes().forEach((name, it) -> nodes.add(name + "~" + it.process()));
    made.recover(nodes, host.nanos());
    sim.declared().forEach(this::tell);
    if (!isGranting) {
      tell(new ControllerEvent.UpstreamsGranted(sim.log.registry.upstreamGrants()));
    }
    tell(new ControllerEvent.NodeJoined(host.bus, null));
    for (MemberRecord each : members.values()) {
      if (each.came && !each.bus.equals(host.bus)) {
        tell(new ControllerEvent.NodeJoined(each.bus, null));
        if (each.leaving) {
          tell(new ControllerEvent.NodeLeaving(each.bus));
        } else if (each.suspected) {
          tell(new ControllerEvent.NodeSuspected(each.bus, true));
        }
      }
    }
    tell(host.inventory());
    members.values().forEach(each -> close(each)); // all call again
  }

  /** Returns whether the controller knows a process as present. */
  boolean has(String bus) {
    return members.values().stream().anyMatch(each -> each.came && each.bus.equals(bus));
  }

  void tell(ControllerEvent event) {
    Controller now = controller;
    if (now != null && leads()) {
      now.on(event, host.nanos()).forEach(this::act);
      arm();
    }
  }

  private void arm() {
    long next = controller == null ? Long.MAX_VALUE : controller.nextWakeNanos();
    if (next != Long.MAX_VALUE && (armedNanos == Long.MAX_VALUE || next - armedNanos < 0)) {
      armedNanos = next;
      int mine = ++timer;
      after(Math.max(1, (next - host.nanos()) / 1e6 + 1), () -> wake(mine));
    }
  }

  private void wake(int mine) {
    if (mine == timer && controller != null) {
      armedNanos = Long.MAX_VALUE;
      sim.onWake();
      controller.wake(host.nanos()).forEach(this::act);
      arm();
    }
  }

  private void act(ControllerAction action) {
    sim.onAction(action);
    if (action instanceof GrantUpstreams change) {
      grant(change);
    } else if (action instanceof ProbeOwner probe) {
      probe(probe.grant());
    } else if (action instanceof ControllerAction.Build build) {
      ControllerEvent built = sim.built(build.application(), build.revision());
      after(1 + sim.random.nextInt(20), () -> tell(built));
    } else if (action instanceof ControllerAction.CommandTo command) {
      MemberRecord to = members.get(name(command.node()));
      if (command.node().equals(host.bus)) {
        after(0, () -> host.onCommand(command));
      } else if (to != null && to.commanded && to.link != null && to.bus.equals(command.node())) {
        to.link.toNode(node -> node.onCommand(command));
      }
    }
  }

  private static String name(String bus) {
    return bus.substring(0, bus.indexOf('~'));
  }

  // --- ControlRole ---

  private void grant(GrantUpstreams change) {
    isGranting = true;
    List<UpstreamGrant> placed = new ArrayList<>();
    for (UpstreamGrant each : change.grants()) {
      MemberRecord owner = members.get(name(each.node()));
      if (owner != null && owner.bus.equals(each.node()) && owner.came) {
        placed.add(each.at(name(each.node()), 7_000));
      } else if (each.port() != 0) {
        placed.add(each);
      }
    }
    List<UpstreamGrant> before = sim.log.registry.upstreamGrants();
    sim.log.inFlight.add(change);
    propose(
        registry -> registry.withGrants(placed, change.ended(), change.limits()),
        change,
        registry -> {
          if (registry != null) {
            sim.log.inFlight.removeIf(each -> each == change);
          }
          if (registry != null && !registry.upstreamGrants().equals(before)) {
            reportGrants();
          } else {
            after(1_000, () -> grantAgain(change, registry == null));
          }
        });
  }

  private void grantAgain(GrantUpstreams change, boolean failed) {
    if (failed) {
      grant(change);
    } else {
      reportGrants();
    }
  }

  private void reportGrants() {
    isGranting = false;
    tell(new ControllerEvent.UpstreamsGranted(sim.log.registry.upstreamGrants()));
  }

  private void probe(UpstreamGrant grant) {
    boolean isReplaced =
        members.entrySet().stream()
            .anyMatch(it -> it.getValue().came && it.getKey().equals(grant.host()));
    if (isReplaced) {
      tell(new ControllerEvent.OwnerFree(grant.node()));
    } else {
      after(
          1 + sim.random.nextInt(10),
          () -> {
            if (sim.refuses(grant.host())) {
              tell(new ControllerEvent.OwnerFree(grant.node()));
            }
          });
    }
  }

  private void propose(
      UnaryOperator<NodeRegistry> change, Consumer<@Nullable NodeRegistry> result) {
    propose(change, null, result);
  }

  private void propose(
      UnaryOperator<NodeRegistry> change,
      @Nullable GrantUpstreams grants,
      Consumer<@Nullable NodeRegistry> result) {
    int millis = 1 + sim.random.nextInt(sim.random.nextInt(20) == 0 ? 1_500 : 20);
    after(
        millis, () -> sim.log.commit(change, grants, done -> after(1, () -> result.accept(done))));
  }

  // --- the membership ---

  /** Adds the registered processes. An earlier process of this node has ended. */
  private void expect() {
    sim.log
        .registry
        .nodes()
        .forEach(
            (name, it) -> {
              String bus = name + "~" + it.process();
              MemberRecord made = new MemberRecord(bus, it.registration());
              if (members.putIfAbsent(name, made) != null) {
                return;
              }
              if (bus.equals(host.bus)) {
                made.came = true;
              } else if (name.equals(host.machine.name)) {
                end(name, made, new ControllerEvent.NodeLost(bus));
              }
            });
  }

  private void sweep() {
    long nanos = Math.min(host.nanos() - sweptNanos, 2 * SWEEP_MS * UpstreamOwnersSimulation.MS);
    sweptNanos = host.nanos();
    MemberRecord own = members.get(host.machine.name);
    if (own != null && own.bus.equals(host.bus)) {
      host.onOwnBeat(own.number);
    } else if (own == null) {
      propose(registry -> registry.with(host.machine.name, host.process), done -> expect());
    }
    long timeout = UpstreamOwnersSimulation.TIMEOUT_NANOS;
    List<MemberRecord> others =
        members.values().stream().filter(each -> !each.bus.equals(host.bus)).toList();
    others.forEach(each -> each.silentNanos += nanos);
    long silent = others.stream().filter(each -> each.silentNanos > timeout / 2).count();
    long hold =
        silent >= 2 && 2 * silent > others.size() ? 30_000 * UpstreamOwnersSimulation.MS : 0;
    for (Map.Entry<String, MemberRecord> each : List.copyOf(members.entrySet())) {
      MemberRecord member = each.getValue();
      if (member.ending != null) {
        end(each.getKey(), member, member.ending);
      } else if (!member.bus.equals(host.bus)) {
        check(each.getKey(), member, timeout, hold);
      }
    }
    after(SWEEP_MS, this::sweep);
  }

  private void check(String name, MemberRecord member, long timeout, long hold) {
    ControlConnection link = member.link;
    if (link != null && link.beat > 0) {
      long beat = link.beat;
      link.toNode(node -> node.onBeat(beat));
    }
    long overdue = member.silentNanos - (member.came ? timeout : 4 * timeout);
    if (overdue > 0 && member.came && !member.suspected) {
      member.suspected = true;
      tell(new ControllerEvent.NodeSuspected(member.bus, true));
    }
    if (overdue > (member.came ? hold : 0)) {
      end(name, member, new ControllerEvent.NodeLost(member.bus));
    } else if (member.came && (link == null || member.suspected)) {
      after(
          1 + sim.random.nextInt(10),
          () -> {
            if (sim.refuses(name) && member.link == null && members.get(name) == member) {
              end(name, member, new ControllerEvent.NodeLost(member.bus));
            }
          });
    }
  }

  private void end(String name, MemberRecord member, ControllerEvent how) {
    member.ending = member.ending == null ? how : member.ending;
    if (member.isCommitting) {
      return;
    }
    member.isCommitting = true;
    propose(
        registry -> registry.without(name, member.number),
        done -> {
          member.isCommitting = false;
          if (done != null && members.remove(name, member)) {
            tell(member.ending);
            if (member.ending instanceof ControllerEvent.NodeLeft) {
              NodeMachine at = sim.machine(name);
              sim.after(5, () -> sim.killIf(at, member.bus));
            }
            close(member);
          }
        });
  }

  private static void close(MemberRecord member) {
    ControlConnection link = member.link;
    member.link = null;
    member.commanded = false;
    if (link != null) {
      link.close();
    }
  }

  void onHello(ControlConnection link) {
    String name = link.node.machine.name;
    MemberRecord known = members.get(name);
    if (known != null && known.bus.equals(link.node.bus) && known.ending == null) {
      greet(known, link);
    } else if (known != null) {
      link.close();
    } else if (joining.put(name, link) == null) {
      propose(
          registry -> registry.with(name, link.node.process),
          done -> {
            ControlConnection last = joining.remove(name);
            expect();
            MemberRecord made = members.get(name);
            if (last != null && made != null && made.bus.equals(last.node.bus)) {
              greet(made, last);
            } else if (last != null) {
              last.close();
            }
          });
    }
  }

  private void greet(MemberRecord member, ControlConnection link) {
    if (member.link != link) {
      close(member);
    }
    member.link = link;
    member.came = true;
    member.commanded = false;
    onContact(link);
    link.toNode(node -> node.onWelcome(member.number));
    tell(new ControllerEvent.NodeJoined(member.bus, null));
  }

  private @Nullable MemberRecord onContact(ControlConnection link) {
    MemberRecord member = members.get(link.node.machine.name);
    if (member == null || member.link != link) {
      link.close();
      return null;
    }
    member.silentNanos = 0;
    if (member.suspected) {
      member.suspected = false;
      tell(new ControllerEvent.NodeSuspected(member.bus, false));
    }
    return member;
  }

  void onInventory(ControlConnection link, ControllerEvent.Inventory inventory) {
    MemberRecord member = onContact(link);
    if (member != null) {
      member.commanded = true;
      tell(inventory);
    }
  }

  void onEvent(ControlConnection link, ControllerEvent event) {
    if (onContact(link) != null) {
      tell(event);
    }
  }

  void onBeat(ControlConnection link, long beat) {
    if (onContact(link) != null) {
      link.beat = beat;
    }
  }

  void onLeaving(ControlConnection link) {
    if (onContact(link) != null) {
      leave(link.node);
    }
  }

  void leave(UpstreamOwner node) {
    MemberRecord member = members.get(node.machine.name);
    if (member != null && member.bus.equals(node.bus) && !member.leaving) {
      member.leaving = true;
      tell(new ControllerEvent.NodeLeaving(node.bus));
    }
  }

  void onEmptied(UpstreamOwner node) {
    MemberRecord member = members.get(node.machine.name);
    if (member != null && member.bus.equals(node.bus) && member.leaving) {
      end(node.machine.name, member, new ControllerEvent.NodeLeft(node.bus));
    }
  }

  void onClosed(ControlConnection link) {
    MemberRecord member = members.get(link.node.machine.name);
    if (member != null && member.link == link) {
      member.link = null;
      member.commanded = false;
    }
  }
}

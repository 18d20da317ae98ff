package dev.berth.simulation;

import dev.berth.controller.ControllerEvent.NodeCordoned;
import dev.berth.controller.ControllerEvent.NodeJoined;
import dev.berth.controller.ControllerEvent.NodeLeaving;
import dev.berth.controller.ControllerEvent.NodeLeft;
import dev.berth.controller.ControllerEvent.NodeLost;
import dev.berth.node.SimulatedProcess.Instance;
import dev.berth.simulation.LifecycleSimulation.Link;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * The members of a simulated cluster, as its registry has them: instances are lost, leave, and come
 * back. The first is the controller's own, and stays.
 */
final class LifecycleNodes {
  static final List<String> FIRST = List.of("n1", "n2", "n3");

  /** One that is registered. */
  private static final class Member {
    boolean cordoned;
    boolean leaving;
    boolean away; // cut off or dead, and not lost yet
  }

  private final LifecycleSimulation on;
  private final SplittableRandom random;
  private final Map<String, Member> members = new LinkedHashMap<>();
  private int processes;

  LifecycleNodes(LifecycleSimulation on) {
    this.on = on;
    this.random = on.world.randomness();
  }

  /** The whole cluster starts; one instance by itself is none. */
  void processBegins() {
    members.clear();
    if (!on.alone) {
      FIRST.forEach(each -> members.put(each, new Member()));
    }
  }

  List<String> names() {
    return List.copyOf(members.keySet());
  }

  /** A controller begins: it is told who is registered. */
  void controllerBegins() {
    members.forEach(
        (name, member) -> {
          on.tell(new NodeJoined(name, zone(name)));
          if (member.cordoned) {
            on.tell(new NodeCordoned(name, true));
          }
          if (member.leaving) {
            on.tell(new NodeLeaving(name));
          }
        });
  }

  private static @Nullable String zone(String name) {
    return name.startsWith("n3") ? null : "z" + name.charAt(1);
  }

  boolean isAway(String name) {
    Member member = members.get(name);
    return member == null || member.away;
  }

  /** One that nothing has befallen; null when there is none. */
  private @Nullable String any(boolean ownToo) {
    List<String> fine =
        members.keySet().stream()
            .filter(each -> ownToo || !each.equals("n1"))
            .filter(each -> !members.get(each).away && !members.get(each).leaving)
            .toList();
    return fine.isEmpty() || on.process == null ? null : fine.get(random.nextInt(fine.size()));
  }

  private void later(int mostMillis, Runnable task) {
    Object process = on.process;
    on.world.after(
        LifecycleSimulation.millis(random.nextInt(mostMillis)),
        "node",
        () -> {
          if (on.process == process) {
            on.onControl(task);
          }
        });
  }

  /**
   * @param dies whether it does, or is only thought to
   */
  boolean isLost(boolean dies) {
    String name = any(false);
    if (name == null) {
      return false;
    }
    loses(name, dies);
    return true;
  }

  void loses(String name, boolean dies) {
    on.world.note("node", name + (dies ? " dies" : " is cut off"));
    members.get(name).away = true;
    Instance instance = on.instance(name);
    Link before = on.links.remove(name); // nothing arrives, and what it says comes late
    if (dies) {
      instance.dies();
    } else {
      on.cutOff.put(name, before);
    }
    later(
        10_000,
        () -> {
          members.remove(name);
          on.tell(new NodeLost(name));
          later(40_000, () -> comesBack(name, dies ? null : instance));
        });
  }

  /** What ran under a number that is lost goes. */
  private void comesBack(String name, @Nullable Instance same) {
    if (same != null) {
      same.hosted().forEach(same::kill);
    }
    on.cutOff.remove(name);
    String next = same != null ? name : name.substring(0, 2) + "~" + ++processes;
    Instance instance = same != null ? same : on.process.join(next);
    on.links.put(next, new Link());
    members.put(next, new Member());
    on.tell(new NodeJoined(next, zone(next)));
    on.tellInventory(instance);
  }

  boolean leaves() {
    String name = any(false);
    if (name == null) {
      return false;
    }
    leaves(name);
    return true;
  }

  void leaves(String name) {
    members.get(name).leaving = true;
    on.tell(new NodeLeaving(name));
    later(
        60_000,
        () -> {
          on.instance(name).dies();
          on.links.remove(name);
          members.remove(name);
          on.tell(new NodeLeft(name));
          later(40_000, () -> comesBack(name, null));
        });
  }

  boolean isCordoned() {
    String name = any(true);
    if (name == null) {
      return false;
    }
    cordon(name, !members.get(name).cordoned);
    return true;
  }

  void cordon(String name, boolean cordoned) {
    members.get(name).cordoned = cordoned;
    on.tell(new NodeCordoned(name, cordoned));
  }

  /** What is under way on its link is lost, both ways. */
  boolean isLinkedAnew() {
    String name = any(true);
    if (name == null) {
      return false;
    }
    Link link = new Link();
    link.isDown = true;
    on.links.put(name, link);
    later(
        3_000,
        () -> {
          if (on.links.get(name) == link) {
            on.tellInventory(on.instance(name));
          }
        });
    return true;
  }

  /** Whoever is to come back does, and takes replicas. */
  void end() {
    on.onControl(
        () ->
            members.forEach(
                (name, member) -> {
                  if (member.cordoned) {
                    cordon(name, false);
                  }
                }));
  }
}

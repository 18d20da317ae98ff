package dev.berth.simulation;

import dev.berth.controller.ControllerEvent;
import dev.berth.controller.UpstreamGrant;
import dev.berth.simulation.UpstreamOwnersSimulation.CountingServer;
import dev.berth.simulation.UpstreamOwnersSimulation.NodeMachine;
import java.util.List;

/** The faults and commands of operators in a run of {@link UpstreamOwnersSimulation}. */
final class UpstreamFaults {
  enum FaultKind {
    KILL,
    PAUSE,
    LONG_PAUSE,
    CUT_UP,
    CUT_DOWN,
    CUT,
    LINK,
    LEAVE,
    ROLL,
    RESTART,
    FAILOVER,
    MAXIMUM,
    OWNERS,
    REDECLARE,
    MOVE,
    TAKE
  }

  private final UpstreamOwnersSimulation sim;

  UpstreamFaults(UpstreamOwnersSimulation sim) {
    this.sim = sim;
  }

  void next(long until) {
    if (sim.world.elapsedNanos() < until - 10_000 * UpstreamOwnersSimulation.MS) {
      FaultKind kind = FaultKind.values()[sim.random.nextInt(FaultKind.values().length)];
      if (inject(kind)) {
        sim.lastFault = kind;
        sim.faults.merge(kind, 1, Integer::sum);
        sim.world.note("fault", kind.name());
      }
      sim.after(-7_000 * Math.log(1 - sim.random.nextDouble()), () -> next(until));
    }
  }

  private boolean inject(FaultKind kind) {
    List<NodeMachine> alive = sim.machines.stream().filter(each -> each.process != null).toList();
    List<NodeMachine> owning =
        alive.stream()
            .filter(it -> it.process.hosted.values().stream().anyMatch(each -> each.open() > 0))
            .toList();
    if (owning.isEmpty()) {
      return false;
    }
    List<NodeMachine> from = sim.random.nextInt(4) > 0 ? owning : alive;
    NodeMachine machine = from.get(sim.random.nextInt(from.size()));
    UpstreamOwner owner = machine.process;
    CountingServer server =
        List.copyOf(sim.servers.values()).get(sim.random.nextInt(sim.servers.size()));
    boolean leads = sim.control != null && sim.control.host == owner;
    switch (kind) {
      case KILL -> sim.kill(owner);
      case PAUSE, LONG_PAUSE -> {
        return pause(
            owner, kind == FaultKind.PAUSE ? 10_000 : 40_000 + sim.random.nextInt(260_000));
      }
      case CUT_UP, CUT_DOWN, CUT -> {
        return cut(machine, kind, leads);
      }
      case LINK -> owner.run(owner::closeLink);
      case LEAVE -> {
        if (!owner.leaving) {
          owner.run(() -> owner.terminate(5_000 + sim.random.nextInt(20_000)));
        }
      }
      case ROLL -> roll(0);
      case RESTART -> restart();
      case FAILOVER -> {
        if (sim.control != null) {
          sim.kill(sim.control.host);
        }
      }
      case MAXIMUM -> {
        server.maximum = Math.max(server.owners, 1 + sim.random.nextInt(8));
        redeclare(server);
      }
      case OWNERS -> {
        server.owners = 1 + sim.random.nextInt(Math.min(3, server.maximum));
        redeclare(server);
      }
      case REDECLARE -> withdraw(server.application);
      case MOVE -> move(sim.servers.get("http://b"));
      case TAKE -> {
        return take(server);
      }
    }
    return true;
  }

  void restart() {
    if (sim.control != null) {
      sim.control.host.run(sim.control::restart);
    }
  }

  private void redeclare(CountingServer server) {
    if (sim.revisions.containsKey(server.application)) {
      sim.declare(server.application);
    }
  }

  private void withdraw(String name) {
    if (sim.revisions.remove(name) != null) {
      sim.tell(new ControllerEvent.Withdrawn(name));
      sim.servers.values().forEach(it -> it.isWithdrawn |= it.application.equals(name));
      sim.after(
          sim.random.nextInt(12_000),
          () -> {
            sim.servers.values().forEach(it -> it.isWithdrawn &= !it.application.equals(name));
            sim.declare(name);
          });
    }
  }

  private void move(CountingServer server) {
    String from = server.application;
    server.application = from.equals("app") ? "other" : "app";
    if (sim.revisions.containsKey(from)) {
      sim.declare(from);
    }
    sim.after(sim.random.nextInt(3_000), () -> redeclare(server));
  }

  private boolean pause(UpstreamOwner owner, long millis) {
    if (owner.paused) {
      return false;
    }
    owner.paused = true;
    sim.after(millis, () -> resume(owner));
    sim.after(
        3_000,
        () -> {
          if (owner.paused && sim.control != null && sim.control.host == owner && !sim.isCalm) {
            boolean others =
                sim.electable().size() * 2L
                    > sim.machines.stream().filter(m -> m.isControl).count();
            if (others) {
              sim.onControlEnded();
            }
          }
        });
    return true;
  }

  private static void resume(UpstreamOwner owner) {
    if (owner.paused) {
      owner.resume();
    }
  }

  private boolean cut(NodeMachine machine, FaultKind kind, boolean leads) {
    if (leads) {
      return false;
    }
    machine.cutUp |= kind != FaultKind.CUT_DOWN;
    machine.cutDown |= kind != FaultKind.CUT_UP;
    sim.after(
        1_000 + sim.random.nextInt(sim.random.nextInt(3) == 0 ? 100_000 : 20_000),
        () -> {
          machine.cutUp = false;
          machine.cutDown = false;
        });
    return true;
  }

  private void roll(int index) {
    if (index < sim.machines.size()) {
      UpstreamOwner owner = sim.machines.get(index).process;
      if (owner != null && !owner.leaving) {
        owner.run(() -> owner.terminate(3_000 + sim.random.nextInt(5_000)));
      }
      sim.after(6_000 + sim.random.nextInt(10_000), () -> roll(index + 1));
    }
  }

  /** Takes an upstream as an operator may: its silent owners have ended and run nothing there. */
  private boolean take(CountingServer server) {
    UpstreamControl now = sim.control;
    boolean isSafe = now != null && !now.host.paused;
    for (UpstreamGrant each : sim.log.registry.upstreamGrants()) {
      UpstreamOwner at = sim.machine(each.node().split("~")[0]).process;
      boolean ends = at == null || !at.bus.equals(each.node());
      isSafe &=
          ends
              ? !server.running.containsKey(each.replicaId())
              : now != null && now.has(each.node());
    }
    if (isSafe) {
      sim.tell(new ControllerEvent.UpstreamTaken(server.key));
    }
    return isSafe;
  }

  void heal() {
    sim.isCalm = true;
    if (sim.failsStarts) { // a version whose starts failed waits for the next deploy
      List.copyOf(sim.revisions.keySet()).forEach(sim::declare);
    }
    for (NodeMachine each : sim.machines) {
      each.cutUp = false;
      each.cutDown = false;
      if (each.process != null) {
        resume(each.process);
      }
    }
  }
}

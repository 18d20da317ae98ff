package dev.berth.simulation;

import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.ShareUpstream;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Inventory;
import dev.berth.controller.Epoch;
import dev.berth.controller.UpstreamShare;
import dev.berth.simulation.UpstreamOwnersSimulation.NodeMachine;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** A process of a node with its own clock: replicas of upstreams, their requests, and its lease. */
final class UpstreamOwner {
  private static final long TICK_MS = 250;

  private final UpstreamOwnersSimulation sim;
  final NodeMachine machine;
  final String process;
  final String bus;
  private final double rate; // of its clock
  private final long originNanos;
  final Map<String, HostedUpstream> hosted = new LinkedHashMap<>();
  private final List<Runnable> deferred = new ArrayList<>(); // while it is stopped
  private final ArrayDeque<Runnable> inbox = new ArrayDeque<>();
  private @Nullable Epoch seen;
  @Nullable ControlConnection link;
  boolean isWelcome;
  long registration;
  boolean alive = true;
  boolean paused;
  boolean leaving;
  boolean emptied;
  private long contactNanos;
  private long renewedNanos; // of the lease
  private boolean lapsed;
  private long lastBeat;
  private long awaitedBeat;
  private long awaitedNanos;
  private int ticks;

  UpstreamOwner(UpstreamOwnersSimulation sim, NodeMachine machine, String process) {
    this.sim = sim;
    this.machine = machine;
    this.process = process;
    this.bus = machine.name + "~" + process;
    this.rate = 0.976 + 0.048 * sim.random.nextDouble();
    this.originNanos = sim.random.nextLong(1L << 50);
    this.renewedNanos = nanos();
    tick();
    arrive();
  }

  long nanos() {
    return originNanos + (long) (sim.world.elapsedNanos() * rate);
  }

  /** Runs a task after a time on the clock of this process. */
  void after(double millis, Runnable task) {
    sim.after(millis / rate, () -> run(task));
  }

  /** Runs a task now, or when the stopped process continues. */
  void run(Runnable task) {
    if (paused) {
      deferred.add(task);
    } else if (alive) {
      task.run();
    }
  }

  /** Handles a message in the order of its arrival. */
  void receive(Runnable message) {
    inbox.add(message);
    run(() -> inbox.remove().run());
  }

  void resume() {
    paused = false;
    List<Runnable> due = new ArrayList<>(deferred);
    deferred.clear();
    Collections.shuffle(due, new Random(sim.random.nextLong()));
    due.forEach(each -> sim.after(0.2 * sim.random.nextInt(50), () -> run(each)));
  }

  void die() {
    alive = false;
    closeLink();
    hosted.values().forEach(HostedUpstream::cancelAll);
  }

  private boolean leads() {
    return sim.control != null && sim.control.host == this;
  }

  // --- the control link ---

  private void tick() {
    ticks++;
    checkLease();
    hosted.values().stream()
        .filter(each -> each.reported != null && !each.report().equals(each.reported))
        .filter(each -> each.reported.ongoing() > (each.draining ? 0 : each.share.maximum()))
        .forEach(HostedUpstream::sendReport);
    if (ticks % 2 == 0 && !leads()) {
      ControlConnection now = link;
      if (now == null) {
        dial();
      } else if (nanos() - contactNanos > UpstreamOwnersSimulation.TIMEOUT_NANOS) {
        closeLink();
      } else if (isWelcome) {
        beat(now);
      }
    }
    after(TICK_MS, this::tick);
  }

  private void beat(ControlConnection now) {
    long beat = ++lastBeat;
    if (awaitedBeat == 0) {
      awaitedBeat = beat;
      awaitedNanos = nanos();
    }
    now.toControl(control -> control.onBeat(now, beat));
  }

  void onBeat(long beat) {
    contactNanos = nanos();
    if (awaitedBeat != 0 && beat >= awaitedBeat) {
      awaitedBeat = 0;
      renew(awaitedNanos);
    }
  }

  private void dial() {
    long began = nanos();
    UpstreamControl control = sim.control;
    contactNanos = began;
    if (control == null && sim.refusesControl(machine)) {
      after(1 + sim.random.nextInt(10), () -> renew(began));
    } else if (control != null) {
      ControlConnection made = new ControlConnection(sim, this, control);
      link = made;
      isWelcome = false;
      awaitedBeat = 0;
      awaitedNanos = began;
      made.registration = registration;
      made.toControl(it -> it.onHello(made));
    }
  }

  void onWelcome(long number) {
    contactNanos = nanos();
    renew(awaitedNanos);
    boolean fresh = number != registration;
    registration = number;
    isWelcome = true;
    if (fresh) {
      List.copyOf(hosted.values()).forEach(this::stop);
    }
    ControlConnection now = link;
    if (now != null) {
      Inventory inventory = inventory();
      now.toControl(it -> it.onInventory(now, inventory));
      if (leaving) {
        leave();
      }
    }
  }

  /** Handles a beat of the controller in this process. */
  void onOwnBeat(long number) {
    registration = number;
    renew(nanos());
  }

  void closeLink() {
    ControlConnection ending = link;
    link = null;
    isWelcome = false;
    if (ending != null) {
      ending.toControl(it -> it.onClosed(ending));
    }
  }

  Inventory inventory() {
    List<Inventory.Found> found = hosted.values().stream().map(HostedUpstream::found).toList();
    return new Inventory(bus, found, sim.complete());
  }

  void send(ControllerEvent event) {
    ControlConnection now = link;
    if (leads()) {
      after(0, () -> sim.tell(this, event));
    } else if (now != null && isWelcome) {
      now.toControl(it -> it.onEvent(now, event));
    }
  }

  // --- commands ---

  void onCommand(Command command) {
    if (seen != null && command.epoch().compareTo(seen) < 0) {
      return;
    }
    seen = command.epoch();
    if (command instanceof StartReplica start && !hosted.containsKey(start.replicaId())) {
      if (!sim.isCalm && sim.failsStarts && sim.random.nextInt(10) == 0) {
        send(new ControllerEvent.ReplicaFailed(start.replicaId(), "planned"));
      } else {
        HostedUpstream made = new HostedUpstream(sim, this, start);
        boolean isSlow = sim.random.nextInt(20) == 0;
        after(10 + sim.random.nextInt(isSlow ? 8_000 : 300), made::onStarted);
      }
    } else if (command instanceof StopReplica stop) {
      stop(hosted.get(stop.replicaId()), stop);
    } else if (command instanceof ReconfigureReplica change) {
      HostedUpstream here = hosted.get(change.replicaId());
      if (here != null) {
        here.reconfigure(change.target());
      }
    } else if (command instanceof ShareUpstream share) {
      share(hosted.get(share.replicaId()), share);
    }
  }

  private void stop(@Nullable HostedUpstream here, StopReplica command) {
    if (here == null) {
      send(new ControllerEvent.ReplicaStopped(command.replicaId()));
    } else {
      boolean isFirst = !here.stopping;
      stop(here);
      if (isFirst) {
        after(command.grace().toMillis(), here::cancelAll);
      }
    }
  }

  private void stop(HostedUpstream here) {
    if (here.runs) {
      here.drain();
    } else {
      here.stopping = true;
      here.endIfEmpty();
    }
  }

  private void share(@Nullable HostedUpstream here, ShareUpstream command) {
    checkLease();
    if (here == null) {
      send(new ControllerEvent.ReplicaStopped(command.replicaId()));
    } else if (here.runs) {
      here.apply(command.share());
    } else {
      here.pending = command.share();
    }
  }

  // --- requests ---

  private void arrive() {
    List<HostedUpstream> open = hosted.values().stream().filter(each -> each.runs).toList();
    if (!open.isEmpty()) {
      open.get(sim.random.nextInt(open.size())).request();
    }
    after(-200 * Math.log(1 - sim.random.nextDouble()), this::arrive);
  }

  // --- the lease ---

  private void renew(long sentNanos) {
    lapsed = hasLeaseEnded();
    renewedNanos = Math.max(renewedNanos, sentNanos);
  }

  boolean hasLeaseEnded() {
    long lease = Long.MAX_VALUE;
    for (HostedUpstream each : hosted.values()) {
      UpstreamShare share = each.pending == null ? each.share : each.pending;
      lease = share.leaseMillis() == 0 ? lease : Math.min(lease, share.leaseMillis());
    }
    return lapsed
        || lease != Long.MAX_VALUE && nanos() - renewedNanos > lease * UpstreamOwnersSimulation.MS;
  }

  private void checkLease() {
    if (!hasLeaseEnded()) {
      return;
    }
    lapsed = true;
    for (HostedUpstream each : List.copyOf(hosted.values())) {
      each.pending = null;
      if (each.share.leaseMillis() > 0) {
        each.share = new UpstreamShare(each.share.number(), 0, 0);
        each.resetAll();
        each.drain();
        sim.lapses++;
      }
    }
    lapsed = false; // all connections were reset
  }

  // --- departure ---

  /** Leaves: replicas drain for a grace, then their connections are reset and the process ends. */
  void terminate(long graceMillis) {
    leaving = true;
    leave();
    after(graceMillis / 4.0, () -> List.copyOf(hosted.values()).forEach(this::stop));
    after(graceMillis, this::empty);
    after(graceMillis + 5_000, () -> sim.kill(this));
  }

  private void leave() {
    ControlConnection now = link;
    if (leads()) {
      after(0, () -> sim.leave(this));
    } else if (now != null && isWelcome) {
      now.toControl(it -> it.onLeaving(now));
      if (emptied) {
        now.toControl(it -> it.onEmptied(now.node));
      }
    }
  }

  private void empty() {
    for (HostedUpstream each : List.copyOf(hosted.values())) {
      each.resetAll();
      each.end();
    }
    emptied = true;
    ControlConnection now = link;
    if (leads()) {
      after(0, () -> sim.empty(this));
    } else if (now != null && isWelcome) {
      now.toControl(it -> it.onEmptied(now.node));
    }
  }
}

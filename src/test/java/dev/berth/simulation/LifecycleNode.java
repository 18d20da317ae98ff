package dev.berth.simulation;

import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.Epoch;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.ReplicaPhase;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An instance that hosts replicas and does as commanded, once however often it is told, and not for
 * an older controller than the newest it knows. What it tells of itself arrives in order; answers
 * to commands may be lost, since a command is given again.
 */
final class LifecycleNode {

  /** A replica that is there. */
  static final class Hosted {
    final String id;
    final ReplicaInfo info;
    final long startedMs;
    DeploymentTarget target;
    @Nullable DeploymentTarget next;
    ReplicaPhase phase = ReplicaPhase.STARTING;
    boolean healthy = true;
    boolean suspect;

    Hosted(String id, ReplicaInfo info, DeploymentTarget target, long startedMs) {
      this.id = id;
      this.info = info;
      this.target = target;
      this.startedMs = startedMs;
    }
  }

  /** How it reaches the controller. */
  interface Link {
    /** An answer to a command. */
    void answer(LifecycleNode from, ControllerEvent event);

    /** What happened by itself. */
    void report(LifecycleNode from, ControllerEvent event);

    /** What instances keep for a later controller. */
    List<DeploymentTarget> complete();
  }

  final String name;
  final Map<String, Hosted> hosted = new LinkedHashMap<>();
  long blockedUntilNanos; // since the start: hears and says nothing before
  long saidNanos; // since the start: when the last of what it tells by itself arrives
  private final World world;
  private final SplittableRandom random;
  private final Link link;
  private final Set<String> loaded; // builds
  private final Set<String> ended = new HashSet<>();
  private @Nullable Epoch newest;
  private int made;
  long refused;

  LifecycleNode(String name, World world, Link link, Set<String> loaded) {
    this.name = name;
    this.world = world;
    this.random = world.randomness();
    this.link = link;
    this.loaded = loaded;
  }

  private static long millis(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }

  // --- commands ---

  void command(ControllerAction action) {
    if (action instanceof StartReplica start && accepts(start.epoch())) {
      start(start);
    } else if (action instanceof ReconfigureReplica reconfigure && accepts(reconfigure.epoch())) {
      reconfigure(reconfigure);
    } else if (action instanceof StopReplica stop && accepts(stop.epoch())) {
      stop(stop);
    }
  }

  private boolean accepts(Epoch epoch) {
    if (newest != null && epoch.compareTo(newest) < 0) {
      refused++;
      return false;
    }
    newest = epoch;
    return true;
  }

  private void start(StartReplica command) {
    String id = command.replicaId();
    Hosted known = hosted.get(id);
    if (known != null) {
      if (known.phase == ReplicaPhase.RUNNING) {
        link.answer(this, new ControllerEvent.ReplicaRunning(known.info));
      }
      return;
    }
    if (ended.contains(id)) {
      link.answer(this, new ControllerEvent.ReplicaStopped(id));
      return;
    }
    if (!loaded.contains(command.target().build())) {
      ended.add(id);
      link.answer(this, new ControllerEvent.ReplicaFailed(id, "build: unknown"));
      return;
    }
    ReplicaInfo info =
        new ReplicaInfo(
            id,
            command.target().id(),
            new ReplicaAddress(name, 0, ++made, made),
            command.target().settings().maxOngoingRequests(),
            true,
            false,
            null,
            OptionalInt.empty(),
            null,
            Map.of());
    Hosted here =
        new Hosted(id, info, command.target(), TimeUnit.NANOSECONDS.toMillis(world.elapsedNanos()));
    hosted.put(id, here);
    boolean slow = random.nextInt(10) == 0;
    world.after(
        millis(slow ? 10_000 + random.nextInt(35_000) : 50 + random.nextInt(3_000)),
        "started",
        () -> started(here));
  }

  private void started(Hosted here) {
    if (hosted.get(here.id) != here || here.phase != ReplicaPhase.STARTING) {
      return;
    }
    String code = here.target.version().code();
    if (LifecycleCode.Part.neverStarts(here.target.version())
        || (code.endsWith("~") && random.nextInt(5) < 2)) {
      end(here);
      link.answer(this, new ControllerEvent.ReplicaFailed(here.id, "it does not start"));
      return;
    }
    here.phase = ReplicaPhase.RUNNING;
    link.answer(this, new ControllerEvent.ReplicaRunning(here.info));
    DeploymentTarget waiting = here.next;
    if (waiting != null) {
      take(here, waiting);
    }
    if (code.endsWith("+")) {
      world.after(millis(5_000 + random.nextInt(15_000)), "sickens", () -> health(here, false));
    }
  }

  private void reconfigure(ReconfigureReplica command) {
    Hosted here = hosted.get(command.replicaId());
    if (here == null || here.phase == ReplicaPhase.DRAINING) {
      link.answer(
          this,
          new ControllerEvent.ReconfigureFailed(
              command.replicaId(), command.target().version(), "it is not there"));
    } else if (here.phase == ReplicaPhase.STARTING) {
      here.next = command.target();
    } else if (command.target().equals(here.next)) {
      return; // its hook answers
    } else if (command.target().equals(here.target)) {
      link.answer(this, new ControllerEvent.ReplicaReconfigured(here.id, here.target.version()));
    } else {
      take(here, command.target());
    }
  }

  private void take(Hosted here, DeploymentTarget target) {
    here.next = target;
    world.after(
        millis(10 + random.nextInt(2_000)),
        "taken",
        () -> {
          if (here.next != target || here.phase != ReplicaPhase.RUNNING) {
            return;
          }
          here.next = null;
          if (target.version().live().endsWith("!")) {
            link.answer(
                this,
                new ControllerEvent.ReconfigureFailed(
                    here.id, target.version(), "it does not take it"));
          } else {
            here.target = target;
            link.answer(this, new ControllerEvent.ReplicaReconfigured(here.id, target.version()));
          }
        });
  }

  private void stop(StopReplica command) {
    Hosted here = hosted.get(command.replicaId());
    if (here == null) {
      ended.add(command.replicaId());
      link.answer(this, new ControllerEvent.ReplicaStopped(command.replicaId()));
    } else if (here.phase == ReplicaPhase.STARTING) {
      end(here);
      link.answer(this, new ControllerEvent.ReplicaStopped(here.id));
    } else if (here.phase == ReplicaPhase.RUNNING) {
      here.phase = ReplicaPhase.DRAINING;
      link.answer(this, new ControllerEvent.ReplicaDraining(here.id));
      long grace = command.grace().toMillis();
      world.after(
          millis(grace == 0 ? 0 : random.nextLong(grace)),
          "drained",
          () -> {
            if (hosted.get(here.id) == here) {
              end(here);
              link.answer(this, new ControllerEvent.ReplicaStopped(here.id));
            }
          });
    }
  }

  private void end(Hosted here) {
    hosted.remove(here.id);
    ended.add(here.id);
  }

  // --- what happens by itself ---

  void crash(Hosted here) {
    boolean started = here.phase != ReplicaPhase.STARTING;
    end(here);
    link.report(
        this,
        started
            ? new ControllerEvent.ReplicaStopped(here.id)
            : new ControllerEvent.ReplicaFailed(here.id, "it crashed"));
  }

  void health(Hosted here, boolean healthy) {
    if (hosted.get(here.id) == here
        && here.phase == ReplicaPhase.RUNNING
        && here.healthy != healthy) {
      here.healthy = healthy;
      link.report(
          this,
          new ControllerEvent.ReplicaHealth(
              here.id, healthy, healthy ? "" : "three checks in a row failed"));
    }
  }

  /** Failures come in runs: a suspect is named again, until it answers. */
  void suspect(Hosted here, boolean suspect) {
    if (hosted.get(here.id) == here && here.phase == ReplicaPhase.RUNNING) {
      here.suspect = suspect;
      link.report(
          this,
          new ControllerEvent.ReplicaSuspect(
              here.id, suspect, suspect ? "nothing but failures" : ""));
    }
  }

  /** Another controller asks what is here. */
  void inventory(Epoch asking) {
    if (accepts(asking)) {
      List<Found> found = new ArrayList<>();
      for (Hosted here : hosted.values()) {
        found.add(
            new Found(
                here.info,
                here.target,
                here.next,
                here.next != null && here.phase == ReplicaPhase.RUNNING
                    ? ReplicaPhase.UPDATING
                    : here.phase,
                here.healthy,
                false,
                here.startedMs));
      }
      link.report(this, new ControllerEvent.Inventory(name, found, link.complete()));
    }
  }
}

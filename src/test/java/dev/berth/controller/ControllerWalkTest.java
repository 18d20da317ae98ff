package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.Publish;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.fakes.Rollouts;
import dev.berth.protocol.ReplicaPhase;
import dev.berth.protocol.RoutingSnapshot;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A controller and an instance at random: deploys, scales, deletions, crashes, failed starts, lost
 * and repeated messages, and controllers that start anew. At every step its bounds hold; left alone
 * it ends up as declared.
 */
class ControllerWalkTest {
  private static final int WALKS = 200;
  private static final int STEPS = 250;
  private static final String NODE = "n1";
  private static final DeploymentId FRONT = new DeploymentId("app", "front");
  private static final DeploymentId MODEL = new DeploymentId("app", "model");

  static List<Long> seeds() {
    List<Long> seeds = new ArrayList<>();
    for (long seed = 1; seed <= WALKS; seed++) {
      seeds.add(seed);
    }
    return seeds;
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void itsBoundsHoldAndItConverges(long seed) {
    Walk walk = new Walk(seed);
    for (int step = 0; step < STEPS; step++) {
      walk.step();
    }
    walk.comeToRest();
  }

  private static final class Walk {
    final SplittableRandom random;
    final Map<String, DrivenController.Hosted> hosted = new LinkedHashMap<>();
    final Set<String> ended = new HashSet<>();
    final Deque<ControllerEvent> events = new ArrayDeque<>(); // on their way to the controller
    final Deque<ControllerEvent> builds = new ArrayDeque<>(); // that take their time
    final Map<DeploymentId, RoutingSnapshot> routes = new HashMap<>();
    final Map<DeploymentId, DeploymentTarget> complete = new LinkedHashMap<>();
    final Set<String> loaded = new HashSet<>(); // builds
    final Map<Long, BuiltApplication> code = new HashMap<>();
    final List<String> history = new ArrayList<>();
    Controller controller;
    BuiltApplication inEffect; // null when the controller knows of none
    DeclaredApplication declared; // null when it is withdrawn
    boolean calm;
    long now;
    long term;
    long revision;
    int made;

    Walk(long seed) {
      random = new SplittableRandom(seed);
      restart();
    }

    // --- what happens ---

    void step() {
      switch (random.nextInt(12)) {
        case 0 -> deploy("v" + (1 + random.nextInt(4)), random.nextInt(3));
        case 1 -> scale();
        case 2 -> {
          if (random.nextInt(5) == 0) {
            withdraw();
          }
        }
        case 3 -> advance(TimeUnit.MILLISECONDS.toNanos(random.nextInt(5_000)));
        case 4 -> {
          if (random.nextInt(8) == 0) {
            note("restart");
            restart();
          }
        }
        case 5 -> crash();
        case 6 -> health();
        default -> progress();
      }
      if (!builds.isEmpty() && random.nextInt(8) == 0) {
        tell(builds.poll());
      }
      deliver();
    }

    private void deploy(String version, int live) {
      revision++;
      note("deploy " + version + "." + live);
      List<DeploymentTarget> targets = new ArrayList<>();
      targets.add(target(FRONT, version, live));
      if (random.nextInt(3) > 0) {
        targets.add(target(MODEL, version, live));
      }
      code.put(revision, new BuiltApplication("build-" + version, "front", targets));
      declared = DeclaredApplication.of("app", revision, "/", "{}", 0);
      tell(new ControllerEvent.Declared(declared));
    }

    private DeploymentTarget target(DeploymentId id, String version, int live) {
      Settings rollout =
          Rollouts.of(
              random.nextBoolean() ? 0.2 : 0.6, new double[] {0, 20, 100}[random.nextInt(3)], 20);
      Settings settings =
          DrivenController.with(
              DrivenController.settings(id.name(), random.nextInt(6), rollout),
              live == 2 ? Map.of("a", 1) : Map.of(),
              random.nextInt(3) + 1,
              rollout,
              5);
      return DrivenController.target(id, version, "l" + live, settings);
    }

    private void scale() {
      if (declared != null) {
        DeploymentId id = random.nextBoolean() ? FRONT : MODEL;
        int replicas = random.nextInt(6);
        Map<String, Integer> scales = new HashMap<>(declared.scales());
        scales.put(id.name(), replicas);
        note("scale " + id + " " + replicas);
        declared =
            new DeclaredApplication(
                "app", revision, "/", "{}", true, 0, null, scales, Map.of(), Set.of(), null);
        tell(new ControllerEvent.Scaled(id, replicas));
      }
    }

    private void withdraw() {
      if (declared != null) {
        note("withdraw");
        declared = null;
        tell(new ControllerEvent.Withdrawn("app"));
      }
    }

    private void crash() {
      any(each -> true)
          .ifPresent(
              each -> {
                note("crash " + each.id);
                end(each, new ControllerEvent.ReplicaStopped(each.id));
              });
    }

    private void health() {
      any(each -> each.runs)
          .ifPresent(
              each ->
                  tell(
                      random.nextBoolean()
                          ? new ControllerEvent.ReplicaHealth(each.id, random.nextBoolean(), "bad")
                          : new ControllerEvent.ReplicaSuspect(
                              each.id, random.nextBoolean(), "bad")));
    }

    /** Something that was commanded is done, or fails. Version 3 does not start, 4 rarely. */
    private void progress() {
      any(each -> !each.runs || each.stopping || each.next != null).ifPresent(this::progress);
    }

    private void progress(DrivenController.Hosted each) {
      if (each.stopping) {
        end(each, new ControllerEvent.ReplicaStopped(each.id));
      } else if (each.next != null) {
        DeploymentTarget next = each.next;
        each.next = null;
        if (!calm && random.nextInt(4) == 0) {
          tell(new ControllerEvent.ReconfigureFailed(each.id, next.version(), "refused"));
        } else {
          each.target = next;
          tell(new ControllerEvent.ReplicaReconfigured(each.id, next.version()));
        }
      } else if (!each.runs) {
        String version = each.target.version().code();
        if (version.equals("v3") || (version.equals("v4") && random.nextInt(3) > 0)) {
          end(each, new ControllerEvent.ReplicaFailed(each.id, "no model"));
        } else {
          each.runs = true;
          tell(new ControllerEvent.ReplicaRunning(DrivenController.info(each)));
        }
      }
    }

    private java.util.Optional<DrivenController.Hosted> any(
        java.util.function.Predicate<DrivenController.Hosted> of) {
      List<DrivenController.Hosted> all = hosted.values().stream().filter(of).toList();
      return all.isEmpty()
          ? java.util.Optional.empty()
          : java.util.Optional.of(all.get(random.nextInt(all.size())));
    }

    private void end(DrivenController.Hosted each, ControllerEvent event) {
      hosted.remove(each.id);
      ended.add(each.id);
      tell(event);
    }

    private void restart() {
      term++;
      events.clear();
      builds.clear();
      inEffect = null;
      controller =
          new Controller(
              new Epoch(term, NODE),
              id -> id.name().charAt(0) + "" + ++made,
              id -> random.nextInt(-1, 3),
              random::nextDouble,
              () -> 0,
              Controller.SHORTEST_SILENCE_NANOS,
              settings -> Map.of());
      controller.recover(List.of(NODE), now);
      // What no replica runs by was known to the controller before only.
      Set<String> known = new HashSet<>();
      complete.values().forEach(each -> known.add(each.build()));
      for (DrivenController.Hosted each : hosted.values()) {
        known.add(each.target.build());
        known.add((each.next == null ? each.target : each.next).build());
      }
      loaded.retainAll(known);
      if (declared != null) {
        tell(new ControllerEvent.Declared(declared));
      }
      List<ControllerEvent.Inventory.Found> found = new ArrayList<>();
      for (DrivenController.Hosted each : hosted.values()) {
        ReplicaPhase phase =
            each.stopping
                ? ReplicaPhase.DRAINING
                : !each.runs
                    ? ReplicaPhase.STARTING
                    : each.next == null ? ReplicaPhase.RUNNING : ReplicaPhase.UPDATING;
        found.add(
            new ControllerEvent.Inventory.Found(
                DrivenController.info(each), each.target, each.next, phase, true, false, 0));
      }
      tell(new ControllerEvent.Inventory(NODE, found, List.copyOf(complete.values())));
    }

    // --- messages ---

    private void tell(ControllerEvent event) {
      events.add(event);
      if (random.nextInt(10) == 0) {
        events.add(event); // twice
      }
    }

    private void deliver() {
      while (!events.isEmpty()) {
        ControllerEvent event = events.poll();
        if (event instanceof ControllerEvent.Built built
            && declared != null
            && built.revision() == declared.revision()) {
          inEffect = built.built();
        }
        List<ControllerAction> first = controller.on(event, now);
        apply(first);
        if (random.nextInt(4) == 0 && first.stream().noneMatch(Build.class::isInstance)) {
          assertThat(controller.on(event, now))
              .as("%s twice; %s", event, history)
              .allMatch(each -> each instanceof StopReplica || each instanceof DiscardBuild);
        }
      }
    }

    private void apply(List<ControllerAction> actions) {
      for (ControllerAction action : actions) {
        if (action instanceof Build build) {
          build(build.revision());
        } else if (action instanceof DiscardBuild discard) {
          loaded.remove(discard.build());
          assertThat(hosted.values())
              .as("uses %s; %s", discard, history)
              .noneMatch(each -> each.target.build().equals(discard.build()));
        } else if (action instanceof ControllerAction.Remember remember) {
          if (remember.complete() == null) {
            complete.remove(remember.deployment());
          } else {
            complete.put(remember.deployment(), remember.complete());
          }
        } else if (action instanceof Publish publish) {
          publish(publish.snapshot());
        } else if (command(action) && !calm && random.nextInt(20) == 0) {
          note("lost " + action.getClass().getSimpleName());
        } else {
          obey(action);
        }
      }
    }

    /** At once, later, or it fails. */
    private void build(long of) {
      BuiltApplication built = code.get(of);
      ControllerEvent event = new ControllerEvent.Built("app", of, built);
      if (!calm && random.nextInt(8) == 0) {
        event = new ControllerEvent.BuildFailed("app", of, "no such class");
      } else {
        loaded.add(built.build());
      }
      if (!calm && random.nextBoolean()) {
        note("later " + event.getClass().getSimpleName() + " " + of);
        builds.add(event);
      } else {
        tell(event);
      }
    }

    private static boolean command(ControllerAction action) {
      return action instanceof StartReplica
          || action instanceof StopReplica
          || action instanceof ReconfigureReplica;
    }

    private void obey(ControllerAction action) {
      if (action instanceof StartReplica start) {
        start(start);
      } else if (action instanceof StopReplica stop) {
        DrivenController.Hosted each = hosted.get(stop.replicaId());
        if (each == null) {
          tell(new ControllerEvent.ReplicaStopped(stop.replicaId()));
        } else {
          each.stopping = true;
        }
      } else if (action instanceof ReconfigureReplica reconfigure) {
        DrivenController.Hosted each = hosted.get(reconfigure.replicaId());
        if (each != null && each.target.version().equals(reconfigure.target().version())) {
          tell(
              new ControllerEvent.ReplicaReconfigured(
                  each.id, reconfigure.target().version())); // it was done before
        } else if (each != null) {
          each.next = reconfigure.target();
        }
      }
    }

    private void start(StartReplica start) {
      if (ended.contains(start.replicaId())) {
        tell(new ControllerEvent.ReplicaStopped(start.replicaId()));
        return;
      }
      DrivenController.Hosted known = hosted.get(start.replicaId());
      if (known != null) {
        if (known.runs) {
          tell(new ControllerEvent.ReplicaRunning(DrivenController.info(known)));
        }
        return;
      }
      assertThat(loaded).as("%s; %s", start, history).contains(start.target().build());
      hosted.put(start.replicaId(), new DrivenController.Hosted(start.replicaId(), start.target()));
    }

    /** Its surge bound, by what the controller itself says is there. */
    private void bounds() {
      var details = controller.details("app");
      if (details == null) {
        return;
      }
      for (var each : details.deployments()) {
        BuiltApplication built = declared == null ? null : inEffect;
        DeploymentTarget target =
            built == null
                ? null
                : built.targets().stream()
                    .filter(of -> of.id().name().equals(each.name()))
                    .findFirst()
                    .orElse(null);
        if (target == null) {
          continue;
        }
        int wanted = each.targetReplicas();
        int surge = Math.max(1, Reconciler.surge(target.settings(), wanted));
        long there =
            each.replicas().stream()
                .filter(
                    of ->
                        of.phase() == ReplicaPhase.STARTING
                            || of.phase() == ReplicaPhase.RUNNING
                            || of.phase() == ReplicaPhase.UPDATING)
                .count();
        assertThat(there)
            .as("replicas of %s; %s", each, history)
            .isLessThanOrEqualTo(wanted + surge);
      }
    }

    private void publish(RoutingSnapshot snapshot) {
      RoutingSnapshot before = routes.put(snapshot.deployment(), snapshot);
      if (before != null) {
        assertThat(snapshot.version()).isGreaterThan(before.version());
        boolean same =
            snapshot.version().term() == before.version().term()
                && snapshot.available() == before.available()
                && snapshot.replicas().equals(before.replicas());
        assertThat(same && available(snapshot)).as("published as it was; %s", history).isFalse();
      }
    }

    /** One that went and came back is published anew, though it looks the same. */
    private static boolean available(RoutingSnapshot snapshot) {
      return !snapshot.replicas().isEmpty();
    }

    private void advance(long nanos) {
      long until = now + nanos;
      while (controller.nextWakeNanos() <= until) {
        now = Math.max(now, controller.nextWakeNanos());
        apply(controller.wake(now));
        deliver();
      }
      now = until;
      bounds();
    }

    private void note(String what) {
      history.add(what);
    }

    // --- the end ---

    /** No more faults: what is declared last must come to be, and nothing else be left. */
    void comeToRest() {
      calm = true;
      while (!builds.isEmpty()) {
        tell(builds.poll());
      }
      deploy("v" + (1 + random.nextInt(2)), 0);
      deliver();
      for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 30; i++) {
          progress();
          deliver();
        }
        advance(TimeUnit.SECONDS.toNanos(20));
      }
      BuiltApplication built = code.get(revision);
      assertThat(controller.applications())
          .as("%s %s", controller.details("app"), history)
          .hasToString("{app=RUNNING}");
      int all = 0;
      for (DeploymentTarget target : built.targets()) {
        int wanted = target.settings().get(DeploymentConfig.NUM_REPLICAS);
        all += wanted;
        assertThat(
                hosted.values().stream()
                    .filter(each -> each.target.id().equals(target.id()))
                    .filter(each -> each.runs && each.target.version().equals(target.version())))
            .as("%s; %s", target, history)
            .hasSize(wanted);
        assertThat(routes.get(target.id()).replicas().stream().filter(each -> each.routable()))
            .hasSize(wanted);
      }
      assertThat(hosted).as("without an owner; %s", history).hasSize(all);
      Set<String> used = new HashSet<>(Set.of(built.build()));
      for (DeploymentTarget target : built.targets()) {
        if (target.settings().get(DeploymentConfig.NUM_REPLICAS) == 0
            && complete.containsKey(target.id())) {
          used.add(complete.get(target.id()).build()); // nothing has shown that the new one runs
        }
      }
      assertThat(loaded).as("%s", history).isEqualTo(used);
    }
  }
}

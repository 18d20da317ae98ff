package dev.berth.simulation;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import dev.berth.controller.Epoch;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.StatusTrigger;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a controller may know, from the events it was told, and what it must not do, by the actions
 * it asks for. Kept apart from the controller's own state, so that an error there does not hide
 * itself here.
 */
final class LifecycleWatch {
  private enum Life {
    STARTING,
    SERVING,
    LEAVING
  }

  private static final class Rep {
    final DeploymentId deployment;
    final String node;
    DeploymentTarget target;
    @Nullable DeploymentTarget next;
    Life life;
    boolean healthy = true;
    boolean refused;
    boolean withdrawn; // told to stop with its application

    Rep(DeploymentId deployment, String node, DeploymentTarget target, Life life) {
      this.deployment = deployment;
      this.node = node;
      this.target = target;
      this.life = life;
    }

    boolean isWell() {
      return healthy && !refused;
    }

    boolean serves() {
      return life == Life.SERVING && isWell();
    }

    /** It took a configuration, or refused it; what it is given no more says nothing. */
    void tried(DeploymentVersion version, boolean took) {
      if (next != null && next.version().equals(version)) {
        target = took ? next : target;
        refused |= !took;
        next = null;
      }
    }

    DeploymentVersion version() {
      return next == null ? target.version() : next.version();
    }
  }

  private static final class Fleet {
    final Map<String, Rep> reps = new LinkedHashMap<>();
    @Nullable DeploymentTarget target; // of this controller's last word
    final Map<String, Integer> before = new LinkedHashMap<>(); // replicas at each node by then
    boolean deleting;
    boolean leftAsFound; // the code has it no more, and this controller came upon it
    @Nullable DeploymentStatus status;
    @Nullable DeploymentVersion statusVersion;
    @Nullable RoutingSnapshot published;
    boolean found; // by this controller, whose code it did not know
    int wantedBefore; // of the turn before
    int servingBefore; // this turn
    int startedNow;
    int leftNow; // serving well, and told to stop

    /** A lower max_replicas_per_node is for starts: what runs by then stays. */
    void configured(DeploymentTarget next) {
      target = next;
      before.clear();
      reps.values().forEach(rep -> before.merge(rep.node, 1, Integer::sum));
    }

    int serving() {
      return (int) reps.values().stream().filter(Rep::serves).count();
    }
  }

  private final World world;
  final Set<String> loaded = new HashSet<>(); // builds that may be used
  private final Map<String, Set<DeploymentId>> parts = new LinkedHashMap<>(); // of what was built
  private final Map<DeploymentId, Fleet> fleets = new LinkedHashMap<>();
  private final Set<String> ended = new LinkedHashSet<>(); // of this controller
  private final Set<String> lost = new HashSet<>(); // replicas, with their nodes
  int excused; // starts that failed on a lost node for want of their code
  private final Map<String, String> startedOn = new LinkedHashMap<>(); // node, by any controller
  private final Map<String, Long> declared = new LinkedHashMap<>(); // revisions, by application
  private final Set<String> decided = new LinkedHashSet<>(); // applications whose code is known
  final Map<DeploymentStatus, Long> statuses = new LinkedHashMap<>();
  private final Set<String> closed = new HashSet<>(); // cordoned, or to be left
  private final Map<String, Boolean> nodes = new LinkedHashMap<>(); // whether each takes replicas
  @Nullable Epoch epoch;
  boolean recovering;

  LifecycleWatch(World world) {
    this.world = world;
  }

  /** Another process begins: nothing is there. */
  void processBegins() {
    fleets.clear();
    loaded.clear();
    lost.clear();
    startedOn.clear();
  }

  /** Another controller begins: it knows nothing but what it is told. */
  void begins(Epoch next) {
    epoch = next;
    recovering = true;
    nodes.clear();
    closed.clear();
    parts.clear();
    ended.clear();
    declared.clear();
    decided.clear();
    fleets.values().removeIf(fleet -> fleet.published == null);
    for (Fleet fleet : fleets.values()) {
      fleet.reps.clear();
      fleet.target = null;
      fleet.deleting = false;
      fleet.found = false;
      fleet.leftAsFound = false;
      fleet.status = null;
    }
  }

  private Fleet fleet(DeploymentId id) {
    return fleets.computeIfAbsent(id, none -> new Fleet());
  }

  private @Nullable Rep find(String id) {
    for (Fleet fleet : fleets.values()) {
      Rep rep = fleet.reps.get(id);
      if (rep != null) {
        return rep;
      }
    }
    return null;
  }

  private void with(String id, Consumer<Rep> does) {
    Rep rep = find(id);
    if (rep != null) {
      does.accept(rep);
    }
  }

  RuntimeException broken(String claim) {
    throw world.fail(claim);
  }

  // --- events ---

  /** What the controller is told now. */
  void told(ControllerEvent event) {
    if (event instanceof ControllerEvent.ReplicaRunning running) {
      with(
          running.replica().replicaId(),
          rep -> rep.life = rep.life == Life.STARTING ? Life.SERVING : rep.life);
    } else if (event instanceof ControllerEvent.ReplicaFailed failed) {
      Rep rep = find(failed.replicaId());
      if (rep == null || rep.life != Life.SERVING) {
        over(failed.replicaId());
      }
      boolean isLate = rep == null && lost.contains(failed.replicaId()); // its code may be gone
      if (failed.reason().startsWith("build: ")) {
        if (!isLate) {
          throw broken("start of " + failed.replicaId() + ": " + failed.reason());
        }
        excused++;
      }
    } else if (event instanceof ControllerEvent.ReplicaStopped stopped) {
      over(stopped.replicaId());
    } else if (event instanceof ControllerEvent.ReplicaReconfigured taken) {
      with(taken.replicaId(), rep -> rep.tried(taken.version(), true));
    } else if (event instanceof ControllerEvent.ReconfigureFailed failed) {
      with(failed.replicaId(), rep -> rep.tried(failed.version(), false));
    } else if (event instanceof ControllerEvent.ReplicaDraining draining) {
      with(draining.replicaId(), rep -> rep.life = Life.LEAVING);
    } else if (event instanceof ControllerEvent.ReplicaHealth health) {
      with(health.replicaId(), rep -> rep.healthy = health.healthy());
    } else if (event instanceof ControllerEvent.Declared wanted) {
      String name = wanted.application().name();
      declared.put(name, wanted.application().revision());
      if (recovering && !parts.containsKey(name)) {
        decided.remove(name); // what failed to build is not the last word
      }
    } else if (event instanceof ControllerEvent.Built built) {
      loaded.add(built.built().build());
      if (decide(built.application(), built.revision())) {
        Set<DeploymentId> own = new HashSet<>();
        built.built().targets().forEach(target -> own.add(target.id()));
        parts.put(built.application(), own);
      }
      leaveAsFound(built);
    } else if (event instanceof ControllerEvent.BuildFailed failed) {
      decide(failed.application(), failed.revision());
    } else if (event instanceof ControllerEvent.OfNode ofNode) {
      told(ofNode);
    }
    for (Fleet fleet : fleets.values()) {
      fleet.servingBefore = fleet.serving();
      fleet.startedNow = 0;
      fleet.leftNow = 0;
    }
  }

  private void told(ControllerEvent.OfNode event) {
    String node = event.node();
    if (event instanceof ControllerEvent.NodeJoined) {
      nodes.put(node, false); // until it has told what it hosts
    } else if (event instanceof ControllerEvent.NodeLost
        || event instanceof ControllerEvent.NodeLeft) {
      nodes.remove(node);
      closed.remove(node);
      lost.addAll(on(node));
      startedOn.entrySet().stream()
          .filter(each -> each.getValue().equals(node))
          .forEach(each -> lost.add(each.getKey()));
      on(node).forEach(this::over);
    } else if (event instanceof ControllerEvent.NodeLeaving) {
      closed.add(node);
    } else if (event instanceof ControllerEvent.NodeCordoned cordoned) {
      if (cordoned.cordoned()) {
        closed.add(node);
      } else {
        closed.remove(node);
      }
    } else if (event instanceof ControllerEvent.Inventory inventory) {
      nodes.replace(node, true);
      Set<String> named = new HashSet<>();
      inventory.replicas().forEach(each -> named.add(each.info().replicaId()));
      on(node).stream()
          .filter(each -> !named.contains(each) && find(each).life != Life.STARTING)
          .forEach(this::over);
      inventory.replicas().forEach(this::found);
    }
  }

  private List<String> on(String node) {
    List<String> all = new ArrayList<>();
    fleets
        .values()
        .forEach(
            fleet ->
                fleet.reps.forEach(
                    (id, rep) -> {
                      if (rep.node.equals(node)) {
                        all.add(id);
                      }
                    }));
    return all;
  }

  /** What is found of an application stays as it is until its code is known. */
  private boolean decide(String application, long revision) {
    boolean is = Long.valueOf(revision).equals(declared.get(application));
    if (is) {
      decided.add(application);
    }
    return is;
  }

  /** Who may still call a deployment that the code has no more finds as many as were there. */
  private void leaveAsFound(ControllerEvent.Built built) {
    fleets.forEach(
        (id, fleet) -> {
          if (id.application().equals(built.application())) {
            boolean part = built.built().targets().stream().anyMatch(each -> each.id().equals(id));
            fleet.leftAsFound = !part && (fleet.leftAsFound || fleet.found);
          }
        });
  }

  private void found(ControllerEvent.Inventory.Found found) {
    String id = found.info().replicaId();
    Life life =
        switch (found.phase()) {
          case STARTING -> Life.STARTING;
          case RUNNING, UPDATING -> Life.SERVING;
          default -> Life.LEAVING;
        };
    Rep known = find(id);
    if (known != null) {
      foundAgain(known, life, found);
    }
    boolean isStranger = !recovering && !nodes.isEmpty();
    if (known != null || ended.contains(id) || isStranger) {
      return;
    }
    Rep rep = new Rep(found.target().id(), found.info().address().node(), found.target(), life);
    rep.healthy = found.healthy();
    rep.next = found.next();
    rep.refused = found.refused();
    Fleet fleet = fleet(found.target().id());
    fleet.found = true;
    fleet.reps.put(id, rep);
    fleet.before.merge(rep.node, 1, Integer::sum); // it was started under an earlier controller
  }

  private static void foundAgain(Rep known, Life life, ControllerEvent.Inventory.Found found) {
    known.healthy = found.healthy();
    if (known.life == Life.STARTING || life == Life.LEAVING) {
      known.life = life;
    }
    if (found.next() == null && life == Life.SERVING && known.next != null) {
      boolean took = found.target().version().equals(known.next.version()) && !found.refused();
      if (took || found.refused()) {
        known.tried(known.next.version(), took);
      }
    }
  }

  private void over(String id) {
    ended.add(id);
    fleets.values().forEach(fleet -> fleet.reps.remove(id));
  }

  // --- actions ---

  void asked(ControllerAction action) {
    if (action instanceof ControllerAction.Command command) {
      commandedBy(command.epoch());
    }
    if (action instanceof ControllerAction.StartReplica start) {
      start(start);
    } else if (action instanceof ControllerAction.StopReplica stop) {
      with(
          stop.replicaId(),
          rep -> {
            fleet(rep.deployment).leftNow += rep.serves() ? 1 : 0;
            rep.withdrawn |= fleet(rep.deployment).deleting;
            rep.life = Life.LEAVING;
          });
    } else if (action instanceof ControllerAction.ReconfigureReplica reconfigure) {
      Rep rep = find(reconfigure.replicaId());
      if (rep == null || rep.life != Life.SERVING) {
        throw broken("reconfigure of " + reconfigure.replicaId() + " (expected: one that serves)");
      }
      rep.next = reconfigure.target();
    } else if (action instanceof ControllerAction.Configure configure) {
      fleet(configure.target().id()).configured(configure.target());
    } else if (action instanceof ControllerAction.DiscardBuild discard) {
      discard(discard);
    } else if (action instanceof ControllerAction.Publish publish) {
      publish(publish.snapshot());
    } else if (action instanceof ControllerAction.AnnounceDeployment announce) {
      Fleet fleet = fleet(announce.deployment());
      fleet.status = announce.status();
      fleet.statusVersion = announce.version();
      fleet.deleting = announce.trigger() == StatusTrigger.DELETING;
      statuses.merge(announce.status(), 1L, Long::sum);
      if (announce.status() == DeploymentStatus.HEALTHY) {
        requireThatItMayRun(announce.deployment(), announce.version());
      }
    } else if (action instanceof ControllerAction.Announce announce) {
      if (announce.status() == ApplicationStatus.RUNNING) {
        parts
            .getOrDefault(announce.application(), Set.of())
            .forEach(id -> requireThatItMayRun(id, null));
      }
    } else if (action instanceof ControllerAction.Forget forget) {
      forget(forget.deployment());
    }
  }

  private void commandedBy(Epoch by) {
    if (!by.equals(epoch)) {
      throw broken("epoch: " + by + " (expected: " + epoch + ")");
    }
  }

  private void start(ControllerAction.StartReplica start) {
    Fleet fleet = fleet(start.target().id());
    Rep known = fleet.reps.get(start.replicaId());
    if (known != null) {
      if (known.life != Life.STARTING) {
        throw broken("start of " + start.replicaId() + ", which is " + known.life);
      }
      return; // commanded again
    }
    if (ended.contains(start.replicaId())) {
      throw broken("start of " + start.replicaId() + " (expected: a new id, it has ended)");
    }
    if (!loaded.contains(start.target().build())) {
      throw broken(
          "start of " + start.replicaId() + " of " + start.target().build() + ", discarded");
    }
    fleet.startedNow++;
    startedOn.put(start.replicaId(), start.node());
    fleet.reps.put(
        start.replicaId(),
        new Rep(start.target().id(), start.node(), start.target(), Life.STARTING));
    if (!nodes.isEmpty()) {
      requireThatItIsPlaced(start, fleet);
    }
  }

  private void requireThatItIsPlaced(ControllerAction.StartReplica start, Fleet fleet) {
    String node = start.node();
    if (!nodes.getOrDefault(node, false) || closed.contains(node)) {
      throw broken(
          "start of %s on %s (expected: one of %s, without %s)"
              .formatted(start.replicaId(), node, nodes, closed));
    }
    DeploymentTarget target = fleet.target;
    Integer most =
        target == null ? null : target.settings().find(DeploymentConfig.MAX_REPLICAS_PER_NODE);
    long there = fleet.reps.values().stream().filter(rep -> rep.node.equals(node)).count();
    if (most != null && there > most) {
      throw broken(start.replicaId() + ": " + there + " on " + node + " (expected: " + most + ")");
    }
  }

  /** Returns how many replicas ran at a node when the deployment was configured last. */
  int before(DeploymentId id, String node) {
    return fleet(id).before.getOrDefault(node, 0);
  }

  /** What never starts, or is never taken, cannot be well where a replica of it is wanted. */
  private void requireThatItMayRun(DeploymentId id, @Nullable DeploymentVersion version) {
    DeploymentTarget target = fleet(id).target;
    if (target != null
        && (version == null || version.equals(target.version()))
        && target.settings().get(DeploymentConfig.NUM_REPLICAS) > 0
        && LifecycleCode.Part.neverStarts(target)) {
      throw broken(id + " is well as " + target + " (expected: failed, it cannot run so)");
    }
  }

  private void discard(ControllerAction.DiscardBuild discard) {
    loaded.remove(discard.build());
    fleets.forEach(
        (id, fleet) ->
            fleet.reps.forEach(
                (replica, rep) -> {
                  if (id.application().equals(discard.application())
                      && rep.target.build().equals(discard.build())) {
                    throw broken("discard of " + discard.build() + ", which runs " + replica);
                  }
                }));
  }

  private void publish(RoutingSnapshot snapshot) {
    if (epoch == null || snapshot.version().term() != epoch.term()) {
      throw broken("snapshot " + snapshot.version() + " (expected: of " + epoch + ")");
    }
    Fleet fleet = fleet(snapshot.deployment());
    RoutingSnapshot before = fleet.published;
    boolean same =
        before != null
            && snapshot.version().term() == before.version().term()
            && snapshot.available() == before.available()
            && snapshot.replicas().equals(before.replicas());
    if (same || (before != null && snapshot.version().compareTo(before.version()) <= 0)) {
      throw broken("published: " + snapshot + " (expected: another and a later one than " + before);
    }
    fleet.published = snapshot;
  }

  private void forget(DeploymentId id) {
    Fleet fleet = fleet(id);
    if (!fleet.reps.isEmpty()) {
      throw broken("forget of " + id + ", which has " + fleet.reps.keySet());
    }
    RoutingSnapshot last = fleet.published;
    if (last != null && (last.available() || !routable(last).isEmpty())) {
      throw broken("forget of " + id + ", of which routers know " + last);
    }
    fleets.remove(id);
  }

  static List<String> routable(RoutingSnapshot snapshot) {
    List<String> ids = new ArrayList<>();
    for (RoutingSnapshot.SnapshotReplica route : snapshot.replicas()) {
      if (route.routable()) {
        ids.add(route.replica().replicaId());
      }
    }
    return ids;
  }

  // --- after each turn ---

  void turnEnds() {
    fleets.forEach(
        (id, fleet) -> {
          DeploymentTarget target = fleet.target;
          if (target != null && !recovering && decided.contains(id.application())) {
            checkNumber(id, fleet, target);
            checkDip(id, fleet, target);
            checkRoutes(id, fleet, target);
            fleet.wantedBefore = target.settings().get(DeploymentConfig.NUM_REPLICAS);
          }
        });
  }

  static int surge(DeploymentTarget target) {
    return (int)
        Math.ceil(
            target.settings().get(DeploymentConfig.MAX_SURGE_PERCENT)
                * target.settings().get(DeploymentConfig.NUM_REPLICAS)
                / 100);
  }

  /** Never more than wanted and the surge; of the sick, one more is made up for at a time. */
  private void checkNumber(DeploymentId id, Fleet fleet, DeploymentTarget target) {
    if (fleet.deleting) {
      return;
    }
    int wanted = target.settings().get(DeploymentConfig.NUM_REPLICAS);
    int active = 0;
    int well = 0;
    for (Rep rep : fleet.reps.values()) {
      active += rep.life == Life.LEAVING ? 0 : 1;
      well += rep.life != Life.LEAVING && rep.isWell() ? 1 : 0;
    }
    boolean moves = fleet.reps.values().stream().anyMatch(rep -> closed.contains(rep.node));
    int surge = Math.max(surge(target), moves ? 1 : 0);
    if (well > wanted + surge && !fleet.leftAsFound) {
      throw broken(
          "%s: %s replicas (expected: at most %s + %s)".formatted(id, well, wanted, surge));
    }
    int most = wanted + Math.max(surge, active > well ? 1 : 0);
    if (fleet.startedNow > 0 && active > most) {
      throw broken(id + ": " + active + " with what was started (expected: at most " + most + ")");
    }
  }

  /** In a rollout with a surge nothing that serves is stopped before another makes up for it. */
  private void checkDip(DeploymentId id, Fleet fleet, DeploymentTarget target) {
    boolean isCramped = target.settings().find(DeploymentConfig.MAX_REPLICAS_PER_NODE) != null;
    boolean hasNoRoom = !nodes.isEmpty() && nodes.keySet().stream().allMatch(closed::contains);
    if (fleet.leftNow == 0 || fleet.deleting || isCramped || hasNoRoom || surge(target) == 0) {
      return;
    }
    int least = Math.min(fleet.wantedBefore, target.settings().get(DeploymentConfig.NUM_REPLICAS));
    if (fleet.serving() < least) {
      throw broken(
          "%s: stopped %s of %s, %s serve on (expected: at least %s)"
              .formatted(id, fleet.leftNow, fleet.servingBefore, fleet.serving(), least));
    }
  }

  private void checkRoutes(DeploymentId id, Fleet fleet, DeploymentTarget target) {
    RoutingSnapshot snapshot = fleet.published;
    if (snapshot == null || epoch == null || snapshot.version().term() != epoch.term()) {
      return; // the one before it told them
    }
    List<String> routable = routable(snapshot);
    boolean complete =
        fleet.status == DeploymentStatus.HEALTHY && target.version().equals(fleet.statusVersion);
    int serving = fleet.serving();
    long there = fleet.reps.values().stream().filter(rep -> rep.life == Life.SERVING).count();
    for (String replica : routable) {
      Rep rep = fleet.reps.get(replica);
      if (rep == null || rep.life != Life.SERVING) {
        throw broken(
            id + ": " + replica + " is routable, " + (rep == null ? "over" : rep.life.name()));
      }
      if (!rep.isWell() && serving * 2 >= there) {
        throw broken(id + ": " + replica + " is routable and sick, half and more are well");
      }
      if (complete && !rep.version().equals(target.version())) {
        throw broken(
            "%s: %s of %s is routable (expected: %s, whose rollout is over)"
                .formatted(id, replica, rep.version(), target.version()));
      }
    }
    if (routable.size() * 2 < serving) {
      throw broken(id + ": " + routable.size() + " routable of " + serving + " (expected: half)");
    }
    if (fleet.deleting && snapshot.available()) {
      throw broken(id + ": is deleted (expected: not available)");
    }
  }

  /** Returns whether a replica was told to stop since its application was deleted. */
  boolean goesWithItsApplication(String replicaId) {
    Rep rep = find(replicaId);
    return rep != null && rep.withdrawn;
  }

  /** What the controller wants of it. */
  @Nullable DeploymentTarget target(DeploymentId id) {
    return fleet(id).target;
  }
}

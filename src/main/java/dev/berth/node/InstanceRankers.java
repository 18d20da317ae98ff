package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.code.BuildCache;
import dev.berth.code.LoadedApplication;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.RouterOptions;
import dev.berth.config.RouterOptions.RankerChoice;
import dev.berth.controller.DeploymentTarget;
import dev.berth.protocol.UserFailure;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.ranking.ConsistentHashRanker;
import dev.berth.routing.ranking.LeastLatencyRanker;
import dev.berth.routing.ranking.LeastRequestsRanker;
import dev.berth.routing.ranking.LocalityTiers;
import dev.berth.routing.ranking.PowerOfTwoRanker;
import dev.berth.routing.ranking.RoundRobinRanker;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Rankers of the deployments' routers on this instance. A user's ranker is created on a thread of
 * its application and ranks once it exists; until then the previous ranker ranks. Its code stays
 * loaded while it ranks. Confined to the control loop.
 */
public final class InstanceRankers {
  private static final Logger LOG = LoggerFactory.getLogger(InstanceRankers.class);

  /**
   * Ranker that the settings of a deployment request.
   *
   * @param build build that has the class of a user's ranker; else empty
   */
  private record RequestedRanker(RankerChoice choice, String build) {}

  private final HookThreads threads;
  private final LoopExecutor control;
  private final BuildCache builds;
  private final LongSupplier nanoClock;
  private final Map<DeploymentId, RequestedRanker> wanted = new HashMap<>();
  private final Map<DeploymentId, LoadedApplication> ranking = new HashMap<>(); // code in use

  public InstanceRankers(
      HookThreads threads, LoopExecutor control, BuildCache builds, LongSupplier nanoClock) {
    this.threads = threads;
    this.control = control;
    this.builds = builds;
    this.nanoClock = nanoClock;
  }

  /** Sets the ranker that a deployment requests, if its router has another one. */
  void choose(DeploymentRouter router, DeploymentTarget target) {
    RankerChoice choice =
        RouterOptions.choice(target.settings().find(DeploymentConfig.REQUEST_ROUTER_CONFIG));
    boolean own = choice.className() != null;
    RequestedRanker next = new RequestedRanker(choice, own ? target.build() : "");
    if (next.equals(
        wanted.getOrDefault(target.id(), new RequestedRanker(RankerChoice.USUAL, "")))) {
      return;
    }
    wanted.put(target.id(), next);
    if (own) {
      make(router, next);
    } else {
      router.ranker.set(createRanker(choice));
      use(target.id(), null);
    }
  }

  /** Releases the ranker of a removed router. */
  void forget(DeploymentId id) {
    wanted.remove(id);
    use(id, null);
  }

  /** Records the code whose ranker ranks from now on, and releases the previous code. */
  private void use(DeploymentId id, @Nullable LoadedApplication code) {
    LoadedApplication before = code == null ? ranking.remove(id) : ranking.put(id, code);
    if (before != null) {
      builds.release(before);
    }
  }

  private ReplicaRanker createRanker(RankerChoice choice) {
    LocalityTiers tiers =
        new LocalityTiers(
            choice.isOn("prefer_local_loop"),
            choice.isOn("prefer_local_node"),
            choice.isOn("prefer_local_zone"));
    return switch (choice.ranker()) {
      case POWER_OF_TWO -> new PowerOfTwoRanker(tiers);
      case LEAST_REQUESTS -> new LeastRequestsRanker(tiers, (int) choice.number("choices", 16));
      case ROUND_ROBIN -> new RoundRobinRanker();
      case CONSISTENT_HASH ->
          new ConsistentHashRanker(
              (int) choice.number("virtual_nodes", 100),
              (int) choice.number("fallback_replicas", 2),
              choice.number("load_factor", 0));
      case LEAST_LATENCY ->
          new LeastLatencyRanker(
              tiers,
              (long) (choice.number("decay_s", 10) * 1e9),
              (long) (choice.number("default_rtt_s", 0.001) * 1e9),
              nanoClock);
    };
  }

  // --- rankers of users ---

  private void make(DeploymentRouter router, RequestedRanker next) {
    DeploymentId id = router.deployment();
    LoadedApplication code = builds.acquire(id.application(), next.build);
    if (code == null) {
      wanted.put(
          id, new RequestedRanker(next.choice, "")); // another build follows with its own command
      return;
    }
    try {
      threads.run(
          id.application(),
          HookThreads.HookKind.POLICY,
          () -> {
            try {
              String name = String.valueOf(next.choice.className());
              ReplicaRanker made = code.make(ReplicaRanker.class, name, next.choice.arguments());
              control.execute(() -> onRankerCreated(router, next, code, made, null));
            } catch (Throwable failed) { // user code
              control.execute(() -> onRankerCreated(router, next, code, null, failed));
            }
          });
    } catch (RejectedExecutionException noThread) {
      onRankerCreated(router, next, code, null, noThread);
    }
  }

  private void onRankerCreated(
      DeploymentRouter router,
      RequestedRanker next,
      LoadedApplication code,
      @Nullable ReplicaRanker ranker,
      @Nullable Throwable why) {
    DeploymentId id = router.deployment();
    if (!next.equals(wanted.get(id))) {
      builds.release(code); // another ranker is wanted by now
      return;
    }
    String name = String.valueOf(next.choice.className());
    if (ranker == null) {
      Throwable shown = why == null ? null : UserFailure.legible(why);
      LOG.warn("{}: ranker {} cannot be instantiated: using power of two choices", id, name, shown);
      router.ranker.set(new PowerOfTwoRanker());
    } else {
      String failing =
          "{}: ranker {} failed: using power of two choices (counted in berth_ranker_failures)";
      router.ranker.setOwn(
          ranker, thrown -> LOG.warn(failing, id, name, UserFailure.legible(thrown)));
    }
    use(id, code);
  }
}

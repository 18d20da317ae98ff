package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.code.LoadedApplication;
import dev.berth.config.Backpressure;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.DeploymentTarget;
import dev.berth.metrics.MeterRegistration;
import dev.berth.protocol.port.HandleFactory;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.ProxyRules;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.Routers;
import dev.berth.routing.handle.RoutedHandle;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Routers of this instance's deployments. Creates and configures them as the controller commands,
 * shows their metrics, and removes them with their deployments. Confined to the control loop,
 * unless a method states otherwise.
 */
public final class InstanceRouters {

  /** Router with the registration of its metrics. */
  private static final class RegisteredRouter {
    final DeploymentRouter router;
    final MeterRegistration shown;
    @Nullable DeploymentTarget target; // null while only running code needs the router

    RegisteredRouter(DeploymentRouter router, MeterRegistration shown) {
      this.router = router;
      this.shown = shown;
    }
  }

  private final Routers routers;
  private final InstanceRankers rankers;
  private final long maxReservationTtlNanos;
  private final Function<DeploymentRouter, MeterRegistration> shows;
  final Map<DeploymentId, RegisteredRouter> routed = new HashMap<>();

  /**
   * @param maxReservationTtlNanos maximum TTL of a reservation
   * @param shows shows the metrics of a router, until its registration is closed
   */
  public InstanceRouters(
      Routers routers,
      InstanceRankers rankers,
      long maxReservationTtlNanos,
      Function<DeploymentRouter, MeterRegistration> shows) {
    this.routers = routers;
    this.rankers = rankers;
    this.maxReservationTtlNanos = maxReservationTtlNanos;
    this.shows = shows;
  }

  /** Creates the router of a deployment, so that snapshots find it, or changes its settings. */
  public void configure(DeploymentTarget target) {
    RegisteredRouter known = ensure(target.id(), target.settings());
    known.router.configure(routerSettings(target.settings()));
    known.router.configure(proxyRules(target));
    rankers.choose(known.router, target);
    known.target = target;
  }

  /** Creates the routers that the handlers of a build may call. */
  void ensure(LoadedApplication code) {
    code.settings().forEach(this::ensure);
  }

  private RegisteredRouter ensure(DeploymentId id, Settings settings) {
    return routed.computeIfAbsent(
        id,
        unknown -> {
          DeploymentRouter router = routers.router(id, routerSettings(settings));
          return new RegisteredRouter(router, shows.apply(router));
        });
  }

  /** Removes a deployment's router with all its state; its waiters fail. */
  public void forget(DeploymentId id) {
    RegisteredRouter gone = routed.remove(id);
    if (gone != null) {
      gone.shown.close();
      routers.forget(id);
      rankers.forget(id);
    }
  }

  /** Removes the routers that only the handlers of closed code called. */
  void forgetUnwanted(LoadedApplication code) {
    for (DeploymentId id : code.settings().keySet()) {
      RegisteredRouter known = routed.get(id);
      if (known != null && known.target == null) {
        forget(id);
      }
    }
  }

  /** Returns whether the controller has configured a deployment. */
  boolean isWanted(DeploymentId id) {
    RegisteredRouter known = routed.get(id);
    return known != null && known.target != null;
  }

  /** Returns the router of a configured deployment. */
  public DeploymentRouter router(DeploymentId id) {
    return requireKnown(id, routed.get(id)).router;
  }

  /** Returns the settings that a deployment was last configured with. */
  public Settings settings(DeploymentId id) {
    RegisteredRouter known = routed.get(id);
    return requireKnown(id, known == null ? null : known.target).settings();
  }

  private static <T> T requireKnown(DeploymentId id, @Nullable T found) {
    if (found == null) {
      throw new IllegalArgumentException("deployment: " + id + " (expected: a known deployment)");
    }
    return found;
  }

  /** Returns a handle for user code on a serving loop. Thread-safe. */
  HandleFactory handle(LoadedApplication code, String name, int loop) {
    DeploymentId id = code.id(name);
    Settings settings = code.settings().get(id);
    if (settings == null || routers.find(id) == null) {
      throw new IllegalArgumentException(
          "deployment: " + name + " (expected: one of application " + code.name() + ")");
    }
    return RoutedHandle.of(routers, id, routerSettings(settings), loop);
  }

  private RouterSettings routerSettings(Settings settings) {
    Settings refusal = settings.get(DeploymentConfig.BACKPRESSURE_CONFIG);
    Duration retryAfter = refusal.find(Backpressure.RETRY_AFTER_S);
    Duration timeout = settings.find(DeploymentConfig.REQUEST_TIMEOUT_S);
    return new RouterSettings(
        settings.get(DeploymentConfig.MAX_QUEUED_REQUESTS),
        settings.get(DeploymentConfig.QUEUE_TIMEOUT_S).toNanos(),
        settings.get(DeploymentConfig.RESERVATION_TTL_S).toNanos(),
        maxReservationTtlNanos,
        refusal.get(Backpressure.STATUS_CODE),
        retryAfter == null ? -1 : (int) retryAfter.toSeconds(),
        timeout == null ? Long.MAX_VALUE : timeout.toNanos(),
        settings.get(DeploymentConfig.MAX_OVERTAKE_MS).toNanos(),
        DeploymentConfig.autoscales(settings));
  }

  private static ProxyRules proxyRules(DeploymentTarget target) {
    Settings settings = target.settings();
    boolean proxies = !settings.get(DeploymentConfig.UPSTREAMS).isEmpty();
    String application = target.id().application();
    Duration fallbackAfter = settings.find(DeploymentConfig.FALLBACK_AFTER_MS);
    return new ProxyRules(
        proxies,
        settings.get(DeploymentConfig.FALLBACK).stream()
            .map(name -> new DeploymentId(application, name))
            .toList(),
        proxies ? settings.get(DeploymentConfig.REPLAY_BYTES) : 0,
        settings.get(DeploymentConfig.IDEMPOTENT),
        fallbackAfter == null ? -1 : fallbackAfter.toNanos());
  }

  /** Returns the longest graceful shutdown time of all deployments. */
  Duration longestGrace() {
    return routed.values().stream()
        .filter(each -> each.target != null)
        .map(each -> each.target.settings().get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S))
        .max(Duration::compareTo)
        .orElse(Duration.ZERO);
  }

  /** Removes all routers from the metrics; the pusher then sends a final zero of each. */
  void hide() {
    routed.values().forEach(each -> each.shown.close());
  }
}

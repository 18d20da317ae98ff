package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.code.BuildCache;
import dev.berth.code.LoadedApplication;
import dev.berth.code.RetainedLoaders;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.LogEncoding;
import dev.berth.config.ServeConfig;
import dev.berth.config.TrafficOptions;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.builtin.McpOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.ProbeUpstream;
import dev.berth.controller.ControllerEvent.Inventory;
import dev.berth.controller.ControllerEvent.UpstreamProbed;
import dev.berth.dialect.ModelAdmission;
import dev.berth.dialect.ModelCatalog;
import dev.berth.dialect.mcp.McpRouteRules;
import dev.berth.ingress.DialectRoute;
import dev.berth.ingress.Ingress;
import dev.berth.ingress.IngressRoute;
import dev.berth.ingress.RouteTraffic;
import dev.berth.ingress.edge.CostRule;
import dev.berth.ingress.edge.EdgeRules;
import dev.berth.metrics.MeterRegistration;
import dev.berth.metrics.Meters;
import dev.berth.metrics.MetricsPusher;
import dev.berth.node.loops.EventBusCleanup;
import dev.berth.node.loops.EventLoops;
import dev.berth.node.loops.Identity;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.node.traffic.EndpointRegistry;
import dev.berth.node.traffic.RouteRegistry;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaSeries;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.traffic.TrafficPolicy;
import dev.berth.view.LogFeed;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Runtime of an instance under a controller on any node: code, replicas, routers and routes.
 * Confined to the control loop.
 */
final class InstanceRuntime {

  /**
   * Dependencies of an instance.
   *
   * @param meters metrics of the whole instance
   * @param threads threads for blocking work: builders, and the hooks of handlers
   * @param log log of the process
   * @param proxies handlers of upstreams
   * @param cluster cluster of the node; null for none
   */
  record InstanceContext(
      ServeConfig config,
      Identity identity,
      Meters meters,
      EventLoops loops,
      HookThreads threads,
      LogFeed log,
      ProxyHandlers proxies,
      @Nullable ClusterIdentity cluster) {
    Vertx vertx() {
      return loops.control().home().owner();
    }
  }

  /** Minimum time before the loader of a closed build counts as retained. */
  private static final long MIN_REMEMBERED_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final InstanceContext on;
  private final MetricsPusher pusher;
  private final Function<Settings, @Nullable LogEncoding> accessEncoding;
  final BuildCache builds;
  final RetainedLoaders retained;
  final InstanceRouters deployments;
  final InstanceReplicas replicas;
  final RouteRegistry routes;
  final ControllerActionExecutor actions;

  /**
   * @param role supplies code and receives events; called later
   * @param requests data plane of the instance
   * @param accessEncoding returns the encoding of the access log; null without an access log
   */
  InstanceRuntime(
      InstanceContext on,
      NodeRole role,
      MetricsPusher pusher,
      Ingress ingress,
      DataPlane requests,
      Function<Settings, @Nullable LogEncoding> accessEncoding) {
    this.on = on;
    this.pusher = pusher;
    this.accessEncoding = accessEncoding;
    LoopVerticle control = on.loops.control();
    retained =
        new RetainedLoaders(
            on.threads,
            on.loops.serving(),
            on.identity.nanoClock(),
            Math.max(
                MIN_REMEMBERED_NANOS, on.config.get(LimitOptions.MAX_RESERVATION_TTL_S).toNanos()));
    builds =
        new BuildCache(on.threads, control, role, role::tell, code -> onCodeClosed(code, role));
    builds.serve(on.proxies);
    builds.onIdle(
        code -> EventBusCleanup.removeConsumers(on.vertx().eventBus(), code.classLoader()));
    deployments =
        new InstanceRouters(
            requests.routers,
            new InstanceRankers(on.threads, control, builds, requests.routers.loop(0)::now),
            on.config.get(LimitOptions.MAX_RESERVATION_TTL_S).toNanos(),
            this::show);
    replicas =
        new InstanceReplicas(
            requests,
            deployments,
            builds,
            this::show,
            control,
            new AtomicLong(on.identity.chance().nextLong())::incrementAndGet,
            role::tell);
    if (on.cluster != null) {
      TickTimer ticks = control.ticks(on.identity.nanoClock());
      replicas.shareBy(new LocalShares(on.proxies.lease(), ticks, control, role::tell));
    }
    routes =
        new RouteRegistry(
            ingress::update,
            on.config.get(HttpOptions.ROOT_PATH),
            control,
            this::leadsTo,
            new EndpointRegistry(
                on.config.get(InstanceOptions.ENDPOINTS),
                this::mayServeEndpoint,
                endpoint ->
                    leadsTo("", TrafficPolicy.of(endpoint, "", null), EdgeRules.of(endpoint))));
    actions =
        ControllerActionExecutor.ofInstance(
                new EpochGate(), builds, replicas, deployments, routes, on.log)
            .on(ProbeUpstream.class, command -> probe(command, role));
    on.meters.add(into -> into.gauge("berth_class_loaders_retained", retained.retained()));
    on.meters.add(into -> into.counter("berth_stale_commands", actions.gate().refused));
  }

  private void probe(ProbeUpstream command, NodeRole role) {
    Map<String, @Nullable Object> config =
        LocalReplicaState.userConfig(command.target(), command.upstream());
    on.proxies
        .reaches(on.loops.control().home(), config)
        .onSuccess(
            reaches -> role.tell(new UpstreamProbed(command.replicaId(), command.node(), reaches)));
  }

  private MeterRegistration show(DeploymentRouter router) {
    router.whenWanted(() -> pusher.signal(router.deployment()));
    return all(
        on.meters.add(into -> InstanceSeries.show(router, routes, into)), pusher.register(router));
  }

  private MeterRegistration show(Replica replica) {
    String application = replica.deployment().application();
    return all(
        on.meters.add(into -> ReplicaSeries.show(replica, routes.prefixOf(application), into)),
        on.meters.add(replica.meters()::collect),
        pusher.registerReplica(
            new ReplicaSource(replica, deployments.router(replica.deployment()))));
  }

  private static MeterRegistration all(MeterRegistration... registrations) {
    return () -> List.of(registrations).forEach(MeterRegistration::close);
  }

  /** Returns whether an endpoint may lead to a deployment. LLM APIs and MCP have rules to check. */
  private boolean mayServeEndpoint(DeploymentId id) {
    if (!deployments.isWanted(id)) {
      return false;
    }
    Settings settings = deployments.settings(id);
    return settings.find(DeploymentConfig.MCP) == null
        && !Boolean.TRUE.equals(
            settings.get(DeploymentConfig.USER_CONFIG).get(UpstreamOptions.IS_OPENAI));
  }

  private IngressRoute leadsTo(DeploymentId ingress, @Nullable Settings traffic) {
    if (traffic == null) {
      return side(ingress, null);
    }
    String application = ingress.application();
    EdgeRules edge = EdgeRules.of(traffic);
    ModelCatalog models = models(application, traffic);
    if (models != null) {
      List<IngressRoute> sides =
          models.deployments().stream().map(each -> side(each, edge)).toList();
      ModelAdmission admission = new ModelAdmission(models, on.proxies().keys());
      return IngressRoute.to(application, new DialectRoute(admission, sides)).withEdge(edge);
    }
    return TrafficOptions.hasRules(traffic)
        ? leadsTo(application, TrafficPolicy.of(traffic, application, ingress), edge)
        : side(ingress, edge);
  }

  /** Returns the models of {@code berth:openai}; null for another application. */
  private @Nullable ModelCatalog models(String application, Settings traffic) {
    Settings openAi = traffic.find(ApplicationConfig.OPENAI);
    return openAi == null
        ? null
        : ModelCatalog.of(
            openAi,
            application,
            each ->
                deployments.settings(each).get(DeploymentConfig.FALLBACK).stream()
                    .map(name -> new DeploymentId(application, name))
                    .filter(deployments::isWanted) // a new one is configured after this
                    .toList(),
            each -> UpstreamOptions.origins(deployments.settings(each)));
  }

  private IngressRoute leadsTo(String application, TrafficPolicy policy, @Nullable EdgeRules edge) {
    return IngressRoute.to(
            application,
            new RouteTraffic(
                policy,
                policy.sides().stream().map(each -> side(each, edge)).toList(),
                policy.shadows().stream().map(each -> deployments.router(each.to())).toList()))
        .withEdge(edge);
  }

  private IngressRoute side(DeploymentId ingress, @Nullable EdgeRules edge) {
    Settings settings = deployments.settings(ingress);
    return new IngressRoute(
            ingress.application(),
            deployments.router(ingress),
            settings.get(DeploymentConfig.BACKPRESSURE_CONFIG),
            accessEncoding.apply(settings.get(DeploymentConfig.LOGGING_CONFIG)))
        .withMcp(mcp(settings.find(DeploymentConfig.MCP)))
        .withCost(CostRule.of(settings))
        .withEdge(edge);
  }

  private @Nullable McpRouteRules mcp(@Nullable Settings rules) {
    return rules == null
        ? null
        : new McpRouteRules(
            on.proxies.sessions(),
            Set.copyOf(rules.get(McpOptions.ORIGINS)),
            rules.get(McpOptions.RESUME_S).toNanos());
  }

  private void onCodeClosed(LoadedApplication code, NodeRole role) {
    deployments.forgetUnwanted(code);
    EventBusCleanup.remove(on.vertx().eventBus(), code.classLoader());
    retained.onBuildClosed(code.name(), code.classLoader());
    if (builds.names().stream().noneMatch(each -> each.startsWith(code.name() + "/"))) {
      on.loops.forget(code.name());
    }
    role.onCodeUnused(code);
  }

  /** Returns all hosted replicas, for a controller that does not know them. */
  Inventory inventory() {
    return new Inventory(on.identity.node(), replicas.inventory(), replicas.complete());
  }
}

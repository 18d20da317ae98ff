package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.config.LimitOptions;
import dev.berth.metrics.HandleMeterSource;
import dev.berth.metrics.LatencyBuckets;
import dev.berth.metrics.LoopMetricSource;
import dev.berth.metrics.Meters;
import dev.berth.metrics.ReplicaMetricSource;
import dev.berth.protocol.port.LedgerView;
import dev.berth.replica.BodyBounds;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaLoop;
import dev.berth.replica.ReplicaState;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.HandleCounters;
import dev.berth.routing.InstanceBounds;
import dev.berth.routing.RouterLoop;
import java.util.List;
import java.util.Map;
import java.util.function.ObjIntConsumer;
import java.util.function.Supplier;

/** What the meters and the pusher read, of the parts that own it. */
final class MetricSources {
  private MetricSources() {}

  /** Shows what the request bodies of the instance hold together, and how much they may. */
  static void show(BodyBounds bodies, Meters meters) {
    meters.addGauge(
        "berth_body_stream_bytes",
        "Bytes that request bodies may have under way now.",
        bodies::streamBytes);
    meters.addGauge(
        "berth_body_stream_bytes_limit",
        "Most bytes of request bodies under way.",
        bodies::maxStreamBytes);
    meters.addGauge(
        "berth_body_buffered_bytes",
        "Bytes of bodies gathered for handlers that take them whole.",
        bodies::bufferedBytes);
    meters.addGauge(
        "berth_body_buffered_bytes_limit",
        "Most bytes of gathered bodies.",
        bodies::maxBufferedBytes);
  }

  /** Shows what all routers of the instance hold together, and how much they may. */
  static void show(InstanceBounds bounds, LimitOptions limits, Meters meters) {
    meters.addGauge(
        "berth_queued_requests", "Requests waiting for a slot, all deployments.", bounds::queued);
    meters.addGauge(
        "berth_queued_requests_limit", "Most waiting requests.", limits::maxQueuedTotal);
    meters.addGauge(
        "berth_queued_bytes", "Bytes of the bodies of waiting requests.", bounds::queuedBytes);
    meters.addGauge(
        "berth_queued_bytes_limit", "Most bytes of waiting requests.", limits::maxQueuedBytes);
    meters.addGauge(
        "berth_stream_bytes",
        "Bytes that answers hold now: granted to streams and not taken by their clients, whole"
            + " answers not taken, and what writers hold for want of a grant.",
        bounds::streamBytes);
    meters.addGauge(
        "berth_stream_bytes_limit",
        "Bytes of answers beyond which the next grants of streams wait.",
        limits::streamBytesTotal);
    meters.addGauge(
        "berth_stream_grants_waiting",
        "Streams whose next grant waits for room now.",
        () -> bounds.streams().waiting());
    meters.addCounter(
        "berth_stream_grants_waited",
        "Grants to streams that had to wait for room.",
        () -> bounds.streams().waits());
  }

  /**
   * @param route of the deployment's application, or empty; it may change
   */
  static HandleMeterSource of(DeploymentRouter router, Supplier<String> route) {
    HandleCounters counters = router.counters();
    return new HandleMeterSource() {
      @Override
      public long begun() {
        return counters.requests();
      }

      @Override
      public String route() {
        return route.get();
      }

      @Override
      public long handleRequests() {
        return router.counters().handleRequests();
      }

      @Override
      public List<LatencyBuckets> fulfillmentTimes() {
        return router.fulfillmentTimes();
      }

      @Override
      public List<LatencyBuckets> dispatchGaps() {
        return router.dispatchGaps();
      }

      @Override
      public long releasedWithoutDispatch() {
        return router.counters().releasedWithoutDispatch();
      }

      @Override
      public long selectionsExpired() {
        return router.counters().selectionsExpired();
      }

      @Override
      public int waitingToCollect() {
        return router.waitingToCollect();
      }

      @Override
      public long collectedAnew() {
        return router.counters().collectedAnew();
      }

      @Override
      public long backPressured() {
        return router.counters().backPressured();
      }

      @Override
      public long retries() {
        return router.counters().retries();
      }

      @Override
      public long handOffs() {
        return router.handOffs();
      }

      @Override
      public long rankerFailures() {
        return router.rankerFailures();
      }

      @Override
      public void forEachReplica(ObjIntConsumer<String> into) {
        router.forEachReplica(into);
      }

      @Override
      public DeploymentId deployment() {
        return router.deployment();
      }

      @Override
      public int queued() {
        return router.queued();
      }

      @Override
      public int running() {
        return router.counters().running();
      }

      @Override
      public int reserved() {
        return router.counters().reserved();
      }

      @Override
      public long requests() {
        return router.counters().requests();
      }

      @Override
      public int maxQueued() {
        int max = router.settings().maxQueued();
        return max < 0 ? Integer.MAX_VALUE : max;
      }
    };
  }

  /**
   * @param route of the deployment's application, or empty; it may change
   */
  static ReplicaMetricSource of(Replica replica, Supplier<String> route) {
    return new ReplicaMetricSource() {
      @Override
      public String route() {
        return route.get();
      }

      @Override
      public DeploymentId deployment() {
        return replica.deployment();
      }

      @Override
      public LedgerView ledger() {
        return replica.view();
      }

      @Override
      public long requests() {
        return replica.processedRequests();
      }

      @Override
      public Map<String, Long> errors() {
        return replica.errors();
      }

      @Override
      public long timeouts() {
        return replica.timeouts();
      }

      @Override
      public List<LatencyBuckets> processingTimes() {
        return replica.processingTimes();
      }

      @Override
      public long maxProcessingNanos() {
        return replica.maxProcessingNanos();
      }

      @Override
      public double utilization() {
        return replica.utilization();
      }

      @Override
      public boolean healthy() {
        return replica.state() == ReplicaState.RUNNING || replica.state() == ReplicaState.DRAINING;
      }

      @Override
      public boolean suspect() {
        return replica.suspect();
      }

      @Override
      public long healthCheckFailures() {
        return replica.healthCheckFailures();
      }

      @Override
      public LatencyBuckets healthCheckTimes() {
        return replica.healthCheckTimes();
      }

      @Override
      public int maxZombies() {
        return replica.limits().maxZombieRequests();
      }

      @Override
      public int remembered() {
        return replica.slots().remembered();
      }

      @Override
      public int maxRemembered() {
        return replica.maxRemembered();
      }

      @Override
      public int notedRouters() {
        return replica.notedRouters();
      }

      @Override
      public int maxNotedRouters() {
        return replica.limits().refusedRouters();
      }
    };
  }

  static LoopMetricSource of(RouterLoop loop, ReplicaLoop replicas, int index, int maxPending) {
    return new LoopMetricSource() {
      @Override
      public int loop() {
        return index;
      }

      @Override
      public int pending() {
        return loop.pendingRequests();
      }

      @Override
      public int maxPending() {
        return maxPending;
      }

      @Override
      public int deadlines() {
        return loop.deadlines();
      }

      @Override
      public int peers() {
        return replicas.peers();
      }

      @Override
      public int maxPeers() {
        return ReplicaLoop.maxPeers();
      }

      @Override
      public long replicaDuplicatesDropped() {
        return replicas.duplicates();
      }

      @Override
      public long falselyHeld() {
        return replicas.falselyHeld();
      }

      @Override
      public long lateAnswersDropped() {
        return loop.lateAnswers();
      }

      @Override
      public long duplicatesDropped() {
        return loop.duplicates();
      }
    };
  }
}

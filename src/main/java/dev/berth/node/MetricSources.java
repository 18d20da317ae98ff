package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.metrics.HandleMetricSource;
import dev.berth.metrics.LoopMetricSource;
import dev.berth.metrics.ReplicaMetricSource;
import dev.berth.protocol.port.LedgerView;
import dev.berth.replica.Replica;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RouterLoop;

/** What the meters and the pusher read, of the parts that own it. */
final class MetricSources {
  private MetricSources() {}

  static HandleMetricSource of(DeploymentRouter router) {
    return new HandleMetricSource() {
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

  static ReplicaMetricSource of(Replica replica) {
    return new ReplicaMetricSource() {
      @Override
      public DeploymentId deployment() {
        return replica.deployment();
      }

      @Override
      public LedgerView ledger() {
        return view(replica);
      }

      @Override
      public long requests() {
        return replica.processedRequests();
      }

      @Override
      public long errors() {
        return replica.errors();
      }
    };
  }

  /** An audit compares with the one before it, so that two of one ledger must not overlap. */
  static LedgerView view(Replica replica) {
    synchronized (replica) {
      return replica.view();
    }
  }

  static LoopMetricSource of(RouterLoop loop, int index, int maxPending) {
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

package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.LedgerView;
import java.util.List;
import java.util.Map;

/** What the meters read of one replica, at a scrape, from any thread. */
public interface ReplicaMetricSource {

  /** The deployment it is a replica of. */
  DeploymentId deployment();

  /** The route of its application; empty when it has none. */
  String route();

  /** Its slots now, and what their last audit said. */
  LedgerView ledger();

  /** Requests its handler has answered, failures included, since its start. */
  long requests();

  /** Of these, the ones its handler failed, by the class of the failure; a bounded number. */
  Map<String, Long> errors();

  /** Of these, the ones whose deadline passed while they ran. */
  long timeouts();

  /** From the start of a request at the replica to its end, by loop. */
  List<LatencyBuckets> processingTimes();

  /** The longest of these in the last minute, in nanoseconds; 0 when there was none. */
  long maxProcessingNanos();

  /** How much of its slots was in use over the last ten minutes, 0 to 1. */
  double utilization();

  /** Whether it counts as healthy. */
  boolean healthy();

  /** Whether it gave nothing but failures of late. */
  boolean suspect();

  /** Health checks that failed since its start. */
  long healthCheckFailures();

  /** How long its health checks took. */
  LatencyBuckets healthCheckTimes();

  /** The most zombies it may have before it counts as unhealthy. */
  int maxZombies();

  /** Attempts and tokens its ledger remembers. */
  int remembered();

  /** The most of them. */
  int maxRemembered();

  /** Routers elsewhere that were refused and are told of the next free slot. */
  int notedRouters();

  /** The most of them. */
  int maxNotedRouters();
}

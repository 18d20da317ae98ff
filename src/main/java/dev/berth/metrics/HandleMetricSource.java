package dev.berth.metrics;

import dev.berth.api.DeploymentId;

/**
 * What the pusher and the meters read of one deployment's router. Every method may be called from
 * the control event loop and from scrapes at any time, so each is a read of a counter: no lock, no
 * wait. Gauges may be momentarily below zero when their counters are read apart; readers clamp.
 */
public interface HandleMetricSource {

  /** The deployment called. */
  DeploymentId deployment();

  /** Requests waiting for a slot now. */
  int queued();

  /** Requests sent to replicas and unanswered now. */
  int running();

  /** Slots held by selections now. */
  int reserved();

  /** Requests accepted since the source was made; never falls. */
  long requests();

  /** Requests that may wait; the bound that {@link #queued} is held to. */
  default int maxQueued() {
    return Integer.MAX_VALUE;
  }
}

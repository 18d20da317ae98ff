package dev.berth.metrics;

/** What the meters read of one event loop's router and replicas, at a scrape, from any thread. */
public interface LoopMetricSource {

  /** The loop's index within the instance. */
  int loop();

  /** Requests sent to replicas and not yet answered. */
  int pending();

  /** The most there may be of them. */
  int maxPending();

  /** Deadlines the router watches. */
  int deadlines();

  /** Routers of other instances that the loop's replicas keep tables for. */
  int peers();

  /** The most there may be of them. */
  int maxPeers();

  /** Requests its replicas dropped because their attempt had been seen or released. */
  long replicaDuplicatesDropped();

  /** Requests from elsewhere that claimed to hold a slot here. */
  long falselyHeld();

  /** Answers dropped because whoever asked had stopped waiting. */
  long lateAnswersDropped();

  /** Messages dropped because they had been seen before. */
  long duplicatesDropped();
}

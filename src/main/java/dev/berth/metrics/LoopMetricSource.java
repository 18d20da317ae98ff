package dev.berth.metrics;

/** What the meters read of one event loop's router, at a scrape, from any thread. */
public interface LoopMetricSource {

  /** The loop's index within the instance. */
  int loop();

  /** Requests sent to replicas and not yet answered. */
  int pending();

  /** The most there may be of them. */
  int maxPending();

  /** Answers dropped because whoever asked had stopped waiting. */
  long lateAnswersDropped();

  /** Messages dropped because they had been seen before. */
  long duplicatesDropped();
}

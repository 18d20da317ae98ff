package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;

/** What waits for a slot: a call, or a choose. */
public interface Waiting extends ReplicaRanker.Asker {

  /** Read by the pump too, and then by any thread. */
  @Override
  default long key() {
    return NO_KEY;
  }

  /** When it got its place, on the instance's clock. */
  long sinceNanos();

  /** The loop it came in on, an index. */
  int loopIndex();

  /** Whether a slot of this replica would do. */
  boolean accepts(RoutedReplica replica);

  /** Whether {@link #accepts} can be false for a routable replica: then it blocks no one behind. */
  boolean picky();

  /**
   * Whether its loop takes no tasks now: a slot granted to it would only lie there, so it is passed
   * over and blocks no one behind.
   */
  boolean paused();

  /** Whether no replica it accepts will ever have one: it is told, and waits no more. */
  default boolean hopeless() {
    return false;
  }

  /** How long a slot granted to it is held until it takes it. */
  long holdNanos();

  /**
   * A slot is its own. Called by whoever runs the pump, on any thread; must only hand the grant
   * over to its own loop.
   */
  void granted(Grant grant);

  /** It left the queue, granted or not: its share of the bounds is free. */
  void left();
}

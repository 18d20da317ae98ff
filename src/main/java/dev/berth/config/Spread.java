package dev.berth.config;

/** Where the handlers of one replica run. A replica is a unit of capacity, not a thread. */
public enum Spread {
  /** One handler object on one event loop. The default; the handler may keep state. */
  SINGLE,
  /**
   * One handler object on each event loop behind one set of slots: each request is served on the
   * loop it came in on. For handlers that share no state between their objects.
   */
  EVENT_LOOPS
}

package dev.berth.config;

/**
 * The placement of one replica's handlers on event loops. A replica is a unit of capacity, not a
 * thread.
 */
public enum HandlerSpread {
  /** A single handler object on one event loop. The default; the handler may have state. */
  SINGLE,
  /**
   * Handler object on each event loop, with shared slots: each request runs on the loop that
   * received it. For handlers that share no state between their objects.
   */
  EVENT_LOOPS
}

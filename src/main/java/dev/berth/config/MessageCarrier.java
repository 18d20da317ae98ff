package dev.berth.config;

/** {@code berth.messages}: what carries messages between the event loops of an instance. */
public enum MessageCarrier {
  /** A queue for each event loop. */
  DIRECT,
  /** The event bus of Vert.x. */
  EVENT_BUS
}

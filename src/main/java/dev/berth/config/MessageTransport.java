package dev.berth.config;

/** {@code berth.messages}: the transport of messages between the event loops of an instance. */
public enum MessageTransport {
  /** Queue for each event loop. */
  DIRECT,
  /** Event bus of Vert.x. */
  EVENT_BUS
}

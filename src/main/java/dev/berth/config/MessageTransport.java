package dev.berth.config;

/** {@code berth.messages}: the transport of messages between event loops. */
public enum MessageTransport {
  /** Queue for each event loop, and data links between nodes. */
  DIRECT,
  /** Event bus of Vert.x. */
  EVENT_BUS
}

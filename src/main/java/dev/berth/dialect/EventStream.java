package dev.berth.dialect;

import io.vertx.core.buffer.Buffer;

/** Reads the body of one response as it passes. */
public final class EventStream {
  private EventStream() {}

  /** Returns a reader of server-sent events ({@code text/event-stream}). */
  public static EventStream ofEvents(UsageMode mode) {
    throw new UnsupportedOperationException();
  }

  /** Returns a reader of one JSON document, whole or in pieces. */
  public static EventStream ofDocument(UsageMode mode) {
    throw new UnsupportedOperationException();
  }

  /** Receives the next bytes of the response and returns the bytes to send, possibly none. */
  public Buffer pass(Buffer piece) {
    throw new UnsupportedOperationException();
  }

  /** Returns the bytes that are still held back at the regular end of the response. */
  public Buffer end() {
    throw new UnsupportedOperationException();
  }

  /** Returns whether another event may follow the bytes that were returned so far. */
  public boolean atBoundary() {
    throw new UnsupportedOperationException();
  }

  /** Returns whether an event with generated content has passed. */
  public boolean sawContent() {
    throw new UnsupportedOperationException();
  }

  /** Returns the number of events with data so far. */
  public long events() {
    throw new UnsupportedOperationException();
  }

  /** Returns the last reported usage. */
  public TokenUsage usage() {
    throw new UnsupportedOperationException();
  }
}

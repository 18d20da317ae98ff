package dev.berth.dialect;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.ByteBuffer;

/**
 * Reads the body of one response as it passes: the boundaries of its events, and its token usage. A
 * piece may end anywhere.
 *
 * <p>A body of events passes as it is, except with {@link UsageMode#INJECT}. There, events are
 * passed on whole, and an event that only reports usage is dropped. At most {@value
 * #MAX_HELD_BYTES} bytes of an incomplete event are held back; a longer event passes in parts.
 *
 * <p>Not thread-safe: confined to the loop of the response.
 */
public final class EventStream {
  static final int MAX_HELD_BYTES = 65_536;
  private static final byte[] ID = {'i', 'd', ':'};
  private static final byte[] DATA = {'d', 'a', 't', 'a', ':'};

  private final boolean hasEvents;
  private final UsageMode mode;
  private boolean passedAny;
  private TokenUsage usage = TokenUsage.NONE;
  private boolean sawContent;
  private boolean sawIds;
  private long events;

  // of the line
  private int column; // bytes of the line so far
  private boolean isData; // the line begins like a data field
  private boolean isId; // the line begins like an id field
  private boolean afterCr;

  // of the event
  private boolean isBoundary = true;
  private boolean hasData;
  private boolean isDropped; // the last complete event
  private boolean isLong; // its first bytes were passed on
  private Buffer held = Buffer.buffer();
  private UsageReader reader = new UsageReader(); // of its data

  private EventStream(boolean hasEvents, UsageMode mode) {
    this.hasEvents = hasEvents;
    this.mode = mode;
  }

  /** Returns a reader of server-sent events ({@code text/event-stream}). */
  public static EventStream ofEvents(UsageMode mode) {
    return new EventStream(true, mode);
  }

  /** Returns a reader of one JSON document, whole or in pieces. */
  public static EventStream ofDocument(UsageMode mode) {
    return new EventStream(false, mode);
  }

  /** Receives the next bytes of the response and returns the bytes to send, possibly none. */
  public Buffer pass(Buffer piece) {
    passedAny |= piece.length() > 0;
    ByteBuffer bytes = ((BufferInternal) piece).getByteBuf().nioBuffer();
    if (hasEvents && mode == UsageMode.INJECT) {
      return passWholeEvents(piece, bytes);
    }
    if (hasEvents || mode != UsageMode.OFF) {
      while (bytes.hasRemaining()) {
        accept(bytes.get());
      }
    }
    return piece;
  }

  private void accept(byte b) {
    if (hasEvents) {
      acceptEnd(b);
    } else {
      reader.accept(b);
    }
  }

  private Buffer passWholeEvents(Buffer piece, ByteBuffer bytes) {
    Buffer out = Buffer.buffer(held.length() + piece.length());
    int start = 0; // of the event
    while (bytes.hasRemaining()) {
      if (acceptEnd(bytes.get())) {
        int length = held.length() + bytes.position() - start;
        isDropped &= !isLong && length <= MAX_HELD_BYTES; // for any pieces
        if (!isDropped) {
          out.appendBuffer(held).appendBuffer(piece, start, bytes.position() - start);
        }
        held = Buffer.buffer();
        isLong = false;
        start = bytes.position();
      }
    }
    held.appendBuffer(piece, start, piece.length() - start);
    if (isLong || held.length() > MAX_HELD_BYTES) {
      isLong = true;
      out.appendBuffer(held);
      held = Buffer.buffer();
    }
    return out;
  }

  /** Receives a byte of the events. Returns whether it ends one, or the line break behind one. */
  private boolean acceptEnd(byte b) {
    if (b == '\n' && afterCr) {
      afterCr = false;
      return isBoundary;
    }
    afterCr = b == '\r';
    if (b != '\n' && b != '\r') {
      isBoundary = false;
      acceptField(b);
      return false;
    }
    isBoundary = column == 0;
    column = 0;
    if (isBoundary) {
      endEvent();
    }
    return isBoundary;
  }

  private void acceptField(byte b) {
    if (column < DATA.length) {
      isId = (column == 0 || isId) && column < ID.length && b == ID[column];
      sawIds |= isId && column == ID.length - 1;
      isData = (column == 0 || isData) && b == DATA[column];
      column++;
    } else if (isData) {
      hasData = true;
      if (mode != UsageMode.OFF) {
        reader.accept(b);
      }
    }
  }

  private void endEvent() {
    isDropped = false;
    if (hasData) {
      hasData = false;
      events++;
      isDropped = endDocument();
    }
  }

  /** Takes over the readings of a document. Returns whether it only reports usage. */
  private boolean endDocument() {
    UsageReader read = reader;
    reader = new UsageReader();
    if (!read.isComplete()) {
      return false;
    }
    usage = read.usage(usage);
    sawContent |= read.hasContent();
    return read.onlyReportsUsage();
  }

  /** Returns the bytes that are still held back at the regular end of the response. */
  public Buffer end() {
    endDocument();
    Buffer rest = held;
    held = Buffer.buffer();
    return rest;
  }

  /**
   * Returns whether another event may follow the bytes that were returned so far. An incomplete
   * event that is held back can then be discarded.
   */
  public boolean atBoundary() {
    if (!hasEvents) {
      return !passedAny;
    }
    return mode == UsageMode.INJECT ? !isLong : isBoundary;
  }

  /** Returns whether an event with generated content has passed. False with {@code OFF}. */
  public boolean sawContent() {
    return sawContent;
  }

  /** Returns whether an event had an id. */
  public boolean sawIds() {
    return sawIds;
  }

  /** Returns the number of events with data so far. */
  public long events() {
    return events;
  }

  /** Returns the last reported usage: of complete events, or of a document after its end. */
  public TokenUsage usage() {
    return usage;
  }
}

package dev.berth.dialect;

import io.netty.buffer.ByteBuf;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

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
  private static final byte[] DATA = {'d', 'a', 't', 'a', ':'};
  private static final int MAX_END_BYTES = 64; // of an event without content
  private static final Buffer NONE = Buffer.buffer(0);
  private static final byte[] USAGE = {'"', 'u', 's', 'a', 'g', 'e', '"'};

  private final boolean hasEvents;
  private final UsageMode mode;
  private boolean passedAny;
  private TokenUsage usage = TokenUsage.NONE;
  private boolean sawContent;
  private long events;

  // of the line
  private int column; // bytes of the line so far
  private boolean isData; // the line begins like a data field
  private boolean afterCr;

  // of the event
  private boolean isBoundary = true;
  private boolean hasData;
  private boolean isDropped; // the last complete event
  private boolean isLong; // its first bytes were passed on
  private Buffer tail = NONE; // the last bytes that were passed, or more
  private boolean isEnded; // an event that ends a stream was read
  private Buffer held = NONE;
  private @Nullable UsageReader reader; // of its data; null before the first byte

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
    Buffer passed = read(piece);
    if (hasEvents) {
      tail = passed.length() < MAX_END_BYTES ? end(tail).copy().appendBuffer(passed) : passed;
    }
    return passed;
  }

  private Buffer read(Buffer piece) {
    passedAny |= piece.length() > 0;
    ByteBuf received = ((BufferInternal) piece).getByteBuf();
    if (hasEvents && isBoundary && !afterCr && mayPassUnread(received)) {
      countEvents(received);
      return piece;
    }
    if (!hasEvents && mode == UsageMode.OFF) {
      return piece;
    }
    ByteBuffer bytes = received.nioBuffer();
    if (!hasEvents) {
      reader().accept(bytes);
    } else if (mode == UsageMode.INJECT) {
      return passWholeEvents(piece, bytes);
    }
    while (bytes.hasRemaining()) {
      acceptEnd(bytes.get());
    }
    return piece;
  }

  private UsageReader reader() {
    reader = reader == null ? new UsageReader() : reader;
    return reader;
  }

  /** Returns whether the bytes are whole events without a usage and without a CR. */
  private boolean mayPassUnread(ByteBuf bytes) {
    int length = bytes.readableBytes();
    boolean needsReading = mode == UsageMode.READ && !sawContent;
    return !needsReading
        && mode != UsageMode.INJECT
        && length > 1
        && bytes.getByte(length - 1) == '\n'
        && bytes.getByte(length - 2) == '\n'
        && bytes.indexOf(0, length, (byte) '\r') < 0
        && (mode == UsageMode.OFF || !statesUsage(bytes, length));
  }

  /** Searches from the end of the word backwards, which skips most bytes (Horspool). */
  private static boolean statesUsage(ByteBuf bytes, int length) {
    int at = 0;
    while (at <= length - USAGE.length) {
      int matched = USAGE.length;
      while (matched > 0 && bytes.getByte(at + matched - 1) == USAGE[matched - 1]) {
        matched--;
      }
      if (matched == 0) {
        return true;
      }
      byte end = bytes.getByte(at + USAGE.length - 1);
      int skip = USAGE.length;
      for (int i = 0; i < USAGE.length - 1; i++) {
        skip = USAGE[i] == end ? USAGE.length - 1 - i : skip;
      }
      at += skip;
    }
    return false;
  }

  private void countEvents(ByteBuf bytes) {
    int length = bytes.readableBytes();
    boolean data = false;
    for (int line = 0; line < length; line = bytes.indexOf(line, length, (byte) '\n') + 1) {
      boolean blank = bytes.getByte(line) == '\n';
      events += blank && data ? 1 : 0;
      data = !blank && (data || hasData(bytes, line, length));
    }
  }

  private static boolean hasData(ByteBuf bytes, int line, int length) {
    int same = 0;
    while (same < DATA.length && line + same < length && bytes.getByte(line + same) == DATA[same]) {
      same++;
    }
    return same == DATA.length && bytes.getByte(line + same) != '\n'; // the last byte is one
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
        held = NONE;
        isLong = false;
        start = bytes.position();
      }
    }
    int rest = piece.length() - start;
    held =
        held == NONE
            ? piece.getBuffer(start, piece.length())
            : held.appendBuffer(piece, start, rest);
    if (isLong || held.length() > MAX_HELD_BYTES) {
      isLong = true;
      out.appendBuffer(held);
      held = NONE;
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
      isData = (column == 0 || isData) && b == DATA[column];
      column++;
    } else if (isData) {
      hasData = true;
      if (mode != UsageMode.OFF) {
        reader().accept(b);
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
    reader = null;
    if (read == null || !read.isComplete()) {
      return false;
    }
    usage = read.usage(usage);
    isEnded |= read.endsStream();
    sawContent |= read.hasContent();
    return read.onlyReportsUsage();
  }

  /** Returns the last bytes, among them a short event that ends a stream. */
  private static Buffer end(Buffer bytes) {
    return bytes.slice(Math.max(0, bytes.length() - MAX_END_BYTES), bytes.length());
  }

  /** Returns whether the last event that was passed ends the stream. */
  private boolean hasEnded() {
    String end = end(tail).toString(StandardCharsets.ISO_8859_1).stripTrailing();
    return isEnded || end.endsWith("[DONE]") || end.contains("message_stop");
  }

  /** Returns the bytes that are still held back at the regular end of the response. */
  public Buffer end() {
    endDocument();
    Buffer rest = held;
    held = NONE;
    return rest;
  }

  /**
   * Returns whether another event may follow the bytes that were returned so far. An incomplete
   * event that is held back can then be discarded. None follows an event that ends the stream.
   */
  public boolean atBoundary() {
    if (!hasEvents) {
      return !passedAny;
    }
    return (mode == UsageMode.INJECT ? !isLong : isBoundary) && !hasEnded();
  }

  /** Returns whether an event with generated content has passed. False with {@code OFF}. */
  public boolean sawContent() {
    return sawContent;
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

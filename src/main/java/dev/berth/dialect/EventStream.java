package dev.berth.dialect;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
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
  static final int MAX_HELD_BYTES = 4_096;
  private static final String FIELD = "data:";
  private static final ByteBuf DATA = Unpooled.copiedBuffer(FIELD, StandardCharsets.US_ASCII);
  private static final int MAX_END_BYTES = 64; // of an event without content
  private static final int MAX_RETAINED_BYTES = 1_024; // of a passed piece
  private static final byte[] USAGE = {'"', 'u', 's', 'a', 'g', 'e', '"'};

  private final boolean hasEvents;
  private final UsageMode mode;
  private TokenUsage usage = TokenUsage.NONE;
  private boolean sawContent;
  private long events;

  private final FieldLines lines = new FieldLines(FIELD);

  // of the event
  private boolean hasData;
  private boolean isDropped; // the last complete event
  private boolean isLong; // its first bytes were passed on
  private Buffer tail = Buffer.buffer(); // the last bytes that were passed, or more
  private boolean isEnded; // an event that ends a stream was read
  private Buffer held = Buffer.buffer();
  private @Nullable UsageReader reader; // of its data; null before the first byte

  /**
   * @param hasEvents whether the response has server-sent events, and not one JSON document
   */
  public EventStream(boolean hasEvents, UsageMode mode) {
    this.hasEvents = hasEvents;
    this.mode = mode;
  }

  /** Receives the next bytes of the response and returns the bytes to send, possibly none. */
  public Buffer pass(Buffer piece) {
    Buffer passed = read(piece);
    int length = passed.length();
    if (hasEvents && length > 0) {
      Buffer last = length < MAX_END_BYTES ? end(tail).copy().appendBuffer(passed) : passed;
      tail = length > MAX_RETAINED_BYTES ? end(last).copy() : last;
    }
    return passed;
  }

  private Buffer read(Buffer piece) {
    ByteBuf bytes = ((BufferInternal) piece).getByteBuf();
    if (!hasEvents) {
      if (mode != UsageMode.OFF) {
        reader().accept(bytes.nioBuffer());
      }
    } else if (mode == UsageMode.INJECT) {
      return passWholeEvents(piece);
    } else if (lines.atStart() && mayPassUnread(bytes)) {
      countEvents(bytes);
    } else {
      for (ByteBuffer each = bytes.nioBuffer(); each.hasRemaining(); ) {
        acceptEnd(each.get());
      }
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
    int end = line + FIELD.length();
    return end < length
        && ByteBufUtil.equals(bytes, line, DATA, 0, FIELD.length())
        && bytes.getByte(end) != '\n';
  }

  private Buffer passWholeEvents(Buffer piece) {
    int at = held.length();
    Buffer all = held.appendBuffer(piece);
    Buffer out = Buffer.buffer(all.length());
    int start = 0; // of the event
    while (at < all.length()) {
      if (acceptEnd(all.getByte(at++))) {
        isDropped &= !isLong && at - start <= MAX_HELD_BYTES; // for any pieces
        if (!isDropped) {
          out.appendBuffer(all, start, at - start);
        }
        isLong = false;
        start = at;
      }
    }
    isLong |= at - start > MAX_HELD_BYTES;
    held = all.getBuffer(isLong ? at : start, at);
    return isLong ? out.appendBuffer(all, start, at - start) : out;
  }

  /** Receives a byte of the events. Returns whether it ends one, or the line break behind one. */
  private boolean acceptEnd(byte b) {
    boolean isData = lines.isInField();
    if (lines.accept(b)) {
      if (lines.atBoundary()) {
        endEvent();
      }
    } else if (isData) {
      hasData = true;
      if (mode != UsageMode.OFF) {
        reader().accept(b);
      }
    }
    return lines.atBoundary();
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
    held = Buffer.buffer();
    return rest;
  }

  /**
   * Returns whether another event may follow the events that were returned so far. An incomplete
   * event that is held back can then be discarded. None follows the end of a stream or a document.
   */
  public boolean atBoundary() {
    return hasEvents && (mode == UsageMode.INJECT ? !isLong : lines.atBoundary()) && !hasEnded();
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

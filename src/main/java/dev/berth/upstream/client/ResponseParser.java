package dev.berth.upstream.client;

import dev.berth.api.Headers;
import io.netty.buffer.ByteBuf;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.impl.buffer.VertxByteBufAllocator;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Incremental parser of the HTTP/1 responses of one connection (RFC 9112). Refuses each response
 * with an end that another recipient may see elsewhere.
 *
 * <pre>
 *   DONE --begin--> STATUS --line--> FIELDS --empty line--> (status 1xx) STATUS
 *                                                       --> DONE, FIXED, UNTIL_CLOSE or SIZE
 *   FIXED --all bytes--> DONE
 *   UNTIL_CLOSE --end of input--> DONE
 *   SIZE --line--> CHUNK --all bytes--> CHUNK_END --line--> SIZE
 *   SIZE --0--> TRAILERS --empty line--> DONE
 * </pre>
 */
final class ResponseParser {
  /** Limit in bytes of a head with the informational ones before it, and of the trailers. */
  static final int MAX_HEAD_BYTES = 64 * 1024;

  /** Limit in bytes of the line before a chunk. */
  static final int MAX_CHUNK_LINE_BYTES = 1024;

  private static final String EVENT_STREAM = "text/event-stream";
  private static final int MAX_LENGTH_DIGITS = 18; // of a decimal number in a long
  private static final int MAX_SIZE_DIGITS = 15; // of a hexadecimal one
  private static final long NO_LENGTH = -1;
  private static final byte[] VERSION = "HTTP/1.".getBytes(StandardCharsets.US_ASCII);

  /** Receiver of one response. */
  interface ResponseSink {
    /** Handles the head, before the parts of the body within the same read. */
    void onHead(int status, Headers headers);

    /** Handles an informational response without 100 and 101, or trailers with status 0. */
    void onFields(int status, Headers fields);

    /** Handles all parts of the body within one read, as one. */
    void onPiece(Buffer piece);
  }

  private enum ParsePhase {
    STATUS,
    FIELDS,
    FIXED,
    UNTIL_CLOSE,
    SIZE,
    CHUNK,
    CHUNK_END,
    TRAILERS,
    DONE
  }

  private final ResponseSink sink;
  private ParsePhase phase = ParsePhase.DONE;
  private byte[] line = new byte[256];
  private int lineBytes; // of the incomplete line
  private int headBytes; // of the complete lines of the head or of the trailers
  private String[] pairs = new String[32];
  private int pairCount; // names and values
  private int status;
  private boolean minorZero; // the response has version 1.0
  private boolean bodiless; // the request was a HEAD
  private boolean chunked;
  private long length; // of the body
  private long left; // of the body or the chunk
  private @Nullable Headers head; // completed in this read
  private @Nullable ByteBuf piece; // of this read
  private @Nullable Headers trailers; // of this read
  private boolean reusable;
  private int keepAliveSeconds;
  private boolean eventStream;

  ResponseParser(ResponseSink sink) {
    this.sink = sink;
  }

  /** Begins a response. */
  void begin(boolean headRequest) {
    phase = ParsePhase.STATUS;
    bodiless = headRequest;
    headBytes = 0;
    lineBytes = 0;
  }

  /** Returns whether the response is complete. */
  boolean isDone() {
    return phase == ParsePhase.DONE;
  }

  /** Returns whether the connection of the complete response may carry another one. */
  boolean isReusable() {
    return reusable;
  }

  /** Returns the time that the server promises to wait for another request; the maximum if none. */
  int keepAliveSeconds() {
    return keepAliveSeconds;
  }

  /** Returns whether the response is a stream of server-sent events. */
  boolean isEventStream() {
    return eventStream;
  }

  /**
   * Parses bytes up to the end of the response. The rest stays unread.
   *
   * @throws MalformedResponse also for a response over a limit
   */
  void parse(ByteBuf in) {
    try {
      while (phase != ParsePhase.DONE && in.isReadable()) {
        switch (phase) {
          case FIXED, CHUNK -> takeBody(in, left);
          case UNTIL_CLOSE -> takeBody(in, Long.MAX_VALUE);
          default -> takeLine(in);
        }
      }
    } finally {
      Headers completed = head;
      if (completed != null) {
        head = null;
        sink.onHead(status, completed);
      }
      ByteBuf whole = piece;
      if (whole != null) {
        piece = null;
        sink.onPiece(BufferInternal.buffer(whole));
      }
      Headers last = trailers;
      if (last != null) {
        trailers = null;
        sink.onFields(0, last);
      }
    }
  }

  /**
   * Handles the end of the input.
   *
   * @return whether the end completes the response
   */
  boolean endOfInput() {
    boolean complete = phase == ParsePhase.UNTIL_CLOSE;
    phase = complete ? ParsePhase.DONE : phase;
    return complete;
  }

  // --- body ---

  private void takeBody(ByteBuf in, long limit) {
    int bytes = (int) Math.min(limit, in.readableBytes());
    if (piece == null) {
      // The last part of this read determines the capacity. Heap memory needs no release.
      int capacity = chunked ? in.readableBytes() : bytes;
      piece = VertxByteBufAllocator.DEFAULT.heapBuffer(capacity, Integer.MAX_VALUE);
    }
    piece.writeBytes(in, bytes);
    if (phase != ParsePhase.UNTIL_CLOSE) {
      left -= bytes;
      if (left == 0) {
        phase = phase == ParsePhase.CHUNK ? ParsePhase.CHUNK_END : ParsePhase.DONE;
      }
    }
  }

  // --- lines ---

  private void takeLine(ByteBuf in) {
    int end = in.indexOf(in.readerIndex(), in.writerIndex(), (byte) '\n');
    int bytes = end < 0 ? in.readableBytes() : end + 1 - in.readerIndex();
    boolean ofBody = phase == ParsePhase.SIZE || phase == ParsePhase.CHUNK_END;
    if (lineBytes + bytes > (ofBody ? MAX_CHUNK_LINE_BYTES : MAX_HEAD_BYTES - headBytes)) {
      throw new MalformedResponse(ofBody ? "chunk: line too long" : "head: over 64 KiB");
    }
    if (lineBytes + bytes > line.length) {
      line = Arrays.copyOf(line, Math.max(lineBytes + bytes, 2 * line.length));
    }
    in.readBytes(line, lineBytes, bytes);
    lineBytes += bytes;
    if (end < 0) {
      return;
    }
    int text = lineBytes - 2;
    if (text < 0 || line[text] != '\r') {
      throw new MalformedResponse("line: ends without CR");
    }
    headBytes = ofBody ? 0 : headBytes + lineBytes;
    lineBytes = 0;
    onLine(text);
  }

  private void onLine(int end) {
    switch (phase) {
      case STATUS -> onStatusLine(end);
      case FIELDS -> {
        if (end == 0) {
          onHeadEnd();
        } else {
          onField(end);
        }
      }
      case SIZE -> onSize(end);
      case CHUNK_END -> {
        if (end != 0) {
          throw new MalformedResponse("chunk: longer than its size");
        }
        phase = ParsePhase.SIZE;
      }
      default -> {
        if (end != 0) {
          addField(end);
        } else {
          phase = ParsePhase.DONE;
          trailers = pairCount == 0 ? null : fields();
        }
      }
    }
  }

  // --- head ---

  private void onStatusLine(int end) {
    status = 0;
    boolean versioned = end >= 12 && Arrays.equals(line, 0, 7, VERSION, 0, 7) && line[8] == ' ';
    for (int at = 9; versioned && at < 12; at++) {
      status = line[at] >= '0' && line[at] <= '9' ? 10 * status + line[at] - '0' : -1000;
    }
    if (status < 100 || (line[7] != '0' && line[7] != '1') || (end > 12 && line[12] != ' ')) {
      throw new MalformedResponse("status line: malformed");
    }
    minorZero = line[7] == '0';
    reusable = !minorZero;
    keepAliveSeconds = Integer.MAX_VALUE;
    eventStream = false;
    chunked = false;
    length = NO_LENGTH;
    pairCount = 0;
    phase = ParsePhase.FIELDS;
  }

  private void onField(int end) {
    addField(end);
    onFraming(pairs[pairCount - 2], pairs[pairCount - 1]);
  }

  private void addField(int end) {
    int colon = nameEnd(end);
    int from = colon + 1 < end && line[colon + 1] == ' ' ? colon + 2 : colon + 1;
    checkValue(from, end);
    String name = text(0, colon);
    String value = text(from, end).strip(); // without control characters: of blanks and tabs
    if (pairCount == pairs.length) {
      pairs = Arrays.copyOf(pairs, 2 * pairCount);
    }
    pairs[pairCount++] = name;
    pairs[pairCount++] = value;
  }

  /** Returns the index of the colon after a field's name. */
  private int nameEnd(int end) {
    int at = 0;
    while (at < end && MessageFields.TOKEN[line[at] & 0xFF]) {
      at++;
    }
    if (at == 0 || at == end || line[at] != ':') {
      throw new MalformedResponse("field name: malformed");
    }
    return at;
  }

  private void checkValue(int from, int to) {
    for (int at = from; at < to; at++) {
      byte each = line[at];
      if ((each >= 0 && each < ' ' && each != '\t') || each == 0x7F) {
        throw new MalformedResponse("field value: control character");
      }
    }
  }

  private String text(int from, int to) {
    return new String(line, from, to - from, StandardCharsets.ISO_8859_1);
  }

  /** Reads the fields that determine the end of the response and of the connection. */
  private void onFraming(String name, String value) {
    switch (name.length()) {
      case 10 -> {
        if (name.equalsIgnoreCase("connection")) {
          reusable &= !MessageFields.isListed(value, "close");
        } else if (name.equalsIgnoreCase("keep-alive")) {
          keepAliveSeconds = MessageFields.timeoutSeconds(value);
        }
      }
      case 12 -> {
        if (name.equalsIgnoreCase("content-type")) {
          eventStream = value.regionMatches(true, 0, EVENT_STREAM, 0, EVENT_STREAM.length());
        }
      }
      case 14 -> {
        if (name.equalsIgnoreCase("content-length")) {
          long next = lengthOf(value);
          if (length != NO_LENGTH && length != next) {
            throw new MalformedResponse("content-length: two different values");
          }
          length = next;
        }
      }
      case 17 -> {
        if (name.equalsIgnoreCase("transfer-encoding")) {
          if (chunked || minorZero || !value.equalsIgnoreCase("chunked")) {
            throw new MalformedResponse("transfer-encoding: not chunked alone");
          }
          chunked = true;
        }
      }
      default -> {}
    }
  }

  static long lengthOf(String value) {
    long length = value.isEmpty() || value.length() > MAX_LENGTH_DIGITS ? NO_LENGTH : 0;
    for (int i = 0; i < value.length() && length >= 0; i++) {
      int digit = value.charAt(i) - '0';
      length = digit >= 0 && digit <= 9 ? 10 * length + digit : NO_LENGTH;
    }
    if (length == NO_LENGTH) {
      throw new MalformedResponse("content-length: not a number");
    }
    return length;
  }

  private void onHeadEnd() {
    if (status == 101) {
      throw new MalformedResponse("status: 101 without an upgrade");
    }
    if (chunked && length != NO_LENGTH) {
      throw new MalformedResponse("content-length: with transfer-encoding");
    }
    if (status < 200) {
      phase = ParsePhase.STATUS;
      if (status > 101) {
        sink.onFields(status, fields());
      }
      return;
    }
    if (bodiless || status == 204 || status == 304 || length == 0) {
      phase = ParsePhase.DONE;
    } else if (chunked) {
      phase = ParsePhase.SIZE;
    } else if (length != NO_LENGTH) {
      phase = ParsePhase.FIXED;
      left = length;
    } else {
      phase = ParsePhase.UNTIL_CLOSE;
      reusable = false;
    }
    headBytes = 0;
    head = fields();
    pairCount = 0; // of trailers
  }

  private Headers fields() {
    return Headers.of(Arrays.copyOf(pairs, pairCount));
  }

  // --- chunks ---

  private void onSize(int end) {
    long size = 0;
    int at = 0;
    while (at < end && at <= MAX_SIZE_DIGITS) {
      int digit = Character.digit(line[at], 16);
      if (digit < 0) {
        break;
      }
      size = 16 * size + digit;
      at++;
    }
    if (at == 0 || at > MAX_SIZE_DIGITS || (at < end && " \t;".indexOf(line[at]) < 0)) {
      throw new MalformedResponse("chunk: malformed size");
    }
    left = size;
    phase = size == 0 ? ParsePhase.TRAILERS : ParsePhase.CHUNK;
  }
}

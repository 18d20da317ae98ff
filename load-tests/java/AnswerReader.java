import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Finds the end of an HTTP/1.1 answer in bytes that come in pieces. One for each connection. */
final class AnswerReader {
  private static final int MAX_HEAD = 16 * 1024;

  private enum Part {
    HEAD,
    BODY,
    CHUNK_SIZE,
    CHUNK,
    CHUNK_END,
    TRAILER
  }

  private final byte[] head = new byte[MAX_HEAD];
  private Part part = Part.HEAD;
  private int headLength;
  private int matched; // of the blank line that ends the head
  private long left; // bytes of the body or the chunk
  private int lineLength;
  private int status;
  private boolean closes;

  /** Status of the answer last completed, or begun when its head is whole; else 0. */
  int status() {
    return status;
  }

  /** Whether the server said that it closes the connection. */
  boolean closes() {
    return closes;
  }

  void reset() {
    part = Part.HEAD;
    headLength = 0;
    matched = 0;
    status = 0;
    closes = false;
  }

  /** Takes bytes of one answer; true when they end it. Bytes beyond its end are an error. */
  boolean take(byte[] bytes, int length) throws IOException {
    int at = 0;
    while (at < length) {
      switch (part) {
        case HEAD -> {
          at = takeHead(bytes, at, length);
          if (part == Part.BODY && left == 0) {
            return end(at, length);
          }
        }
        case BODY -> {
          long taken = Math.min(left, length - at);
          left -= taken;
          at += (int) taken;
          if (left == 0) {
            return end(at, length);
          }
        }
        case CHUNK_SIZE -> {
          byte next = bytes[at++];
          int digit = Character.digit(next, 16);
          if (digit >= 0) {
            left = left * 16 + digit;
          } else if (next == '\n') {
            part = left == 0 ? Part.TRAILER : Part.CHUNK;
            lineLength = 0;
          }
        }
        case CHUNK -> {
          long taken = Math.min(left, length - at);
          left -= taken;
          at += (int) taken;
          if (left == 0) {
            part = Part.CHUNK_END;
          }
        }
        case CHUNK_END -> {
          if (bytes[at++] == '\n') {
            part = Part.CHUNK_SIZE;
          }
        }
        case TRAILER -> {
          byte next = bytes[at++];
          if (next == '\n') {
            if (lineLength == 0) {
              return end(at, length);
            }
            lineLength = 0;
          } else if (next != '\r') {
            lineLength++;
          }
        }
      }
    }
    return false;
  }

  private boolean end(int at, int length) throws IOException {
    if (at != length) {
      throw new IOException((length - at) + " bytes after the end of an answer");
    }
    part = Part.HEAD;
    headLength = 0;
    matched = 0;
    return true;
  }

  private int takeHead(byte[] bytes, int from, int length) throws IOException {
    int at = from;
    while (at < length) {
      byte next = bytes[at++];
      if (headLength == MAX_HEAD) {
        throw new IOException("a head of more than " + MAX_HEAD + " bytes");
      }
      head[headLength++] = next;
      boolean expected = next == ((matched & 1) == 0 ? '\r' : '\n');
      matched = expected ? matched + 1 : next == '\r' ? 1 : 0;
      if (matched == 4) {
        readHead();
        return at;
      }
    }
    return at;
  }

  private void readHead() throws IOException {
    status = (head[9] - '0') * 100 + (head[10] - '0') * 10 + (head[11] - '0');
    left = 0;
    closes = false;
    boolean chunked = false;
    boolean bodyless = status == 204 || status == 304 || status / 100 == 1;
    boolean sized = bodyless;
    int line = lineEnd(0);
    while (line < headLength - 2) {
      int end = lineEnd(line);
      if (named(line, "content-length:")) {
        left = number(line + 15, end);
        sized = true;
      } else if (named(line, "transfer-encoding:")) {
        chunked = true;
        sized = true;
      } else if (named(line, "connection:")) {
        closes = text(line, end).toLowerCase(java.util.Locale.ROOT).contains("close");
      }
      line = end;
    }
    if (!sized) {
      throw new IOException("neither content-length nor chunks: " + text(0, headLength));
    }
    part = chunked ? Part.CHUNK_SIZE : Part.BODY;
  }

  private int lineEnd(int from) {
    int at = from;
    while (head[at] != '\n') {
      at++;
    }
    return at + 1;
  }

  private boolean named(int line, String name) {
    for (int i = 0; i < name.length(); i++) {
      int letter = head[line + i];
      if (letter != name.charAt(i) && (letter | 0x20) != name.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  private long number(int from, int to) {
    long value = 0;
    for (int i = from; i < to; i++) {
      if (head[i] >= '0' && head[i] <= '9') {
        value = value * 10 + (head[i] - '0');
      }
    }
    return value;
  }

  private String text(int from, int to) {
    return new String(head, from, to - from, StandardCharsets.ISO_8859_1);
  }
}

package dev.berth.dialect;

import static dev.berth.dialect.TokenUsage.UNKNOWN;

import java.nio.ByteBuffer;
import java.util.Set;

/**
 * Reads token counts and signs of generated content from one JSON document that arrives byte by
 * byte. State is constant, whatever the size of the document, and no byte is retained.
 *
 * <p>Only numbers at their exact paths count, and only in a complete document. The grammar is not
 * validated beyond the nesting of the levels that are read.
 */
final class UsageReader {
  private static final int MAX_DEPTH = 5; // of the values that are read
  private static final int MAX_TEXT_LENGTH = 64; // bytes of a name or a type

  private static final String NOT_READ = "-";
  private static final String USAGE = ".usage.";
  private static final String DELTA = ".choices..delta";

  /** Paths of the objects and arrays that are read. The name of an element is empty. */
  private static final Set<String> READ =
      Set.of(
          "",
          ".usage", // of a whole response, and of most events
          ".response", // of an event of the Responses API
          ".response.usage",
          ".message", // of Anthropic's first event
          ".message.usage",
          ".choices",
          ".choices.",
          DELTA,
          DELTA + ".tool_calls");

  private static final Set<String> ENDS =
      Set.of("response.completed", "response.incomplete", "response.failed");

  private final String[] paths = new String[MAX_DEPTH + 1]; // of the open objects and arrays
  private final boolean[] objects = new boolean[MAX_DEPTH + 1];
  private int depth; // number of open objects and arrays
  private String value = ""; // path of the next value
  private boolean skips; // within an object or array that is not read
  private boolean wantsName;
  private boolean isComplete;
  private boolean isBroken;
  private byte last; // outside of strings and space

  private boolean inString;
  private boolean isEscaped;
  private final StringBuilder text = new StringBuilder(MAX_TEXT_LENGTH);
  private long count = UNKNOWN;

  private final UsageCounts counts = new UsageCounts();
  private boolean hasNoChoices;
  private boolean hasContent;
  private boolean endsStream;

  /** Receives the next bytes. */
  void accept(ByteBuffer bytes) {
    while (bytes.hasRemaining()) {
      accept(bytes.get());
      if (inString && !isEscaped && text.length() == MAX_TEXT_LENGTH) {
        bytes.position(endOfText(bytes));
      }
    }
  }

  /** Returns the place of the next byte that may end a string. */
  private static int endOfText(ByteBuffer bytes) {
    int at = bytes.position();
    while (at < bytes.limit() && bytes.get(at) != '"' && bytes.get(at) != '\\') {
      at++;
    }
    return at;
  }

  void accept(byte b) {
    if (inString) {
      acceptText(b);
      return;
    }
    int bracket = b | ' '; // of both kinds
    if (skips && b != '"' && bracket != '{' && bracket != '}') {
      return;
    }
    isBroken |= depth == 0 && b > ' ' && (isComplete || bracket != '{');
    switch (b) {
      case ' ', '\t', '\n', '\r' -> {
        endCount();
        return;
      }
      case '"' -> {
        inString = true;
        text.setLength(0);
      }
      case '{', '[' -> open(b == '{');
      case '}', ']' -> close(b == '}');
      case ',' -> {
        endCount();
        enter();
      }
      default -> acceptDigit(b);
    }
    last = b;
  }

  private void acceptText(byte b) {
    if (b == '"' && !isEscaped) {
      inString = false;
      endString();
      return;
    }
    isEscaped = b == '\\' && !isEscaped;
    if (text.length() < MAX_TEXT_LENGTH) {
      text.append((char) b); // an escaped name is not decoded, and matches none
    }
  }

  private void endString() {
    if (wantsName) {
      wantsName = false;
      value = text.indexOf(".") < 0 ? paths[depth] + "." + text : NOT_READ;
      return;
    }
    if (value.equals(".type")) {
      String type = text.toString();
      hasContent |= type.endsWith(".delta") || type.equals("content_block_delta");
      endsStream |= ENDS.contains(type);
    }
    boolean isText = value.startsWith(DELTA + ".") && !value.endsWith(".role");
    hasContent |= (isText || value.equals(".choices..text")) && text.length() > 0;
    value = NOT_READ;
  }

  private void open(boolean object) {
    hasContent |= object && value.startsWith(DELTA + "."); // a call of a tool
    depth++;
    if (depth <= MAX_DEPTH) {
      paths[depth] = READ.contains(value) ? value : NOT_READ;
      objects[depth] = object;
    }
    enter();
  }

  private void close(boolean object) {
    endCount();
    isBroken |= depth > 0 && depth <= MAX_DEPTH && objects[depth] != object;
    if (isBroken) {
      return;
    }
    if (depth <= MAX_DEPTH && paths[depth].equals(".choices")) {
      hasNoChoices = last == '[';
    }
    depth--;
    isComplete |= depth == 0;
    enter();
    wantsName = false;
    value = NOT_READ;
  }

  /** Continues in the innermost object or array, before a name or a value. */
  private void enter() {
    skips = depth > MAX_DEPTH || (depth > 0 && paths[depth].equals(NOT_READ));
    boolean isRead = depth > 0 && !skips;
    wantsName = isRead && objects[depth];
    value = isRead && !wantsName ? paths[depth] + "." : NOT_READ;
  }

  private void acceptDigit(byte b) {
    if (b != ':') {
      count = UsageCounts.append(count, b);
    }
  }

  private void endCount() {
    if (count == UNKNOWN) {
      return;
    }
    int usage = value.indexOf(USAGE);
    if (usage >= 0) {
      counts.add(value.substring(usage + USAGE.length()), count, value.startsWith(".message"));
    }
    count = UNKNOWN;
    value = NOT_READ;
  }

  /** Returns whether a whole document has arrived. Its readings count only then. */
  boolean isComplete() {
    return isComplete && !isBroken && depth == 0;
  }

  /** Returns the reported usage, each number with {@code before} as its default. */
  TokenUsage usage(TokenUsage before) {
    return counts.usage(before);
  }

  /** Returns whether the document reports usage beside an empty list of choices. */
  boolean onlyReportsUsage() {
    return hasNoChoices && counts.isReported();
  }

  /** Returns whether the document is the last event of a stream of the Responses API. */
  boolean endsStream() {
    return endsStream;
  }

  boolean hasContent() {
    return hasContent;
  }
}

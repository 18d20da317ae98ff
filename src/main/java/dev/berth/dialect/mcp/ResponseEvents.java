package dev.berth.dialect.mcp;

import dev.berth.dialect.FieldLines;
import io.vertx.core.buffer.Buffer;
import java.util.Set;

/** The server-sent events of a response as they pass, in pieces that may end anywhere. */
public final class ResponseEvents {
  private static final Set<String> OF_RESPONSE = Set.of("result", "error"); // and of no other
  private static final int MAX_NAME_LENGTH = 8;

  private final FieldLines ids = new FieldLines("id:");
  private final FieldLines data = new FieldLines("data:");
  private boolean sawResponse;

  // The JSON-RPC message in the event so far.
  private int depth;
  private boolean inText;
  private boolean escaped;
  private boolean isName; // the next or present text is the name of a member
  private final StringBuilder name = new StringBuilder(); // of a member of the message, in part

  /** Reads the next bytes. */
  public void pass(Buffer piece) {
    ids.pass(piece);
    for (int i = 0; i < piece.length(); i++) {
      byte b = piece.getByte(i);
      if (data.isInField() && b != '\n' && b != '\r') {
        passData((char) b);
      }
      data.accept(b);
      if (data.atBoundary()) {
        depth = 0;
        inText = false;
      }
    }
  }

  private void passData(char c) {
    if (inText) {
      if (escaped || c == '\\') {
        escaped = !escaped;
      } else if (c == '"') {
        inText = false;
        sawResponse |= isName && OF_RESPONSE.contains(name.toString());
      } else if (name.length() < MAX_NAME_LENGTH) {
        name.append(c);
      }
      return;
    }
    switch (c) {
      case '"' -> {
        inText = true;
        name.setLength(0);
      }
      case '{', '[' -> isName = ++depth == 1;
      case '}', ']' -> depth--;
      case ',' -> isName = depth == 1;
      case ':' -> isName = false;
      default -> {}
    }
  }

  /** Returns whether the bytes so far are whole events. */
  public boolean atBoundary() {
    return ids.atBoundary();
  }

  /** Returns whether an event had the response to the request of the stream, perhaps in part. */
  public boolean sawResponse() {
    return sawResponse;
  }

  /** Returns whether an event had an id. */
  public boolean sawIds() {
    return ids.sawField();
  }
}

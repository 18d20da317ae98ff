package dev.berth.dialect.mcp;

import io.vertx.core.buffer.Buffer;
import java.util.Set;

/** The lines of server-sent events as they pass, in pieces that may end anywhere. */
public final class EventLines {
  private static final String ID = "id:";
  private static final String DATA = "data:";
  private static final Set<String> OF_RESPONSE = Set.of("result", "error"); // and of no other
  private static final int MAX_NAME_LENGTH = 8;

  private int column; // bytes of the line so far
  private boolean isId; // the line begins like an id field
  private boolean isData; // the line begins like a data field
  private boolean afterCr;
  private boolean atBoundary = true;
  private boolean sawIds;
  private boolean sawResponse;

  // The JSON-RPC message in the event so far.
  private int depth;
  private boolean inText;
  private boolean escaped;
  private boolean isName; // the next or present text is the name of a member
  private final StringBuilder name = new StringBuilder(); // of a member of the message, in part

  /** Reads the next bytes. */
  public void pass(Buffer piece) {
    for (int i = 0; i < piece.length(); i++) {
      byte b = piece.getByte(i);
      if (b == '\n' && afterCr) {
        afterCr = false; // one line break
      } else if (b == '\n' || b == '\r') {
        afterCr = b == '\r';
        atBoundary = column == 0;
        column = 0;
        if (atBoundary) {
          depth = 0;
          inText = false;
        }
      } else {
        afterCr = false;
        atBoundary = false;
        if (column >= DATA.length() && isData) {
          passData((char) b);
        }
        isId = begins(ID, isId, b);
        isData = column >= DATA.length() ? isData : begins(DATA, isData, b);
        sawIds |= isId && column == ID.length() - 1;
        column++;
      }
    }
  }

  private boolean begins(String field, boolean soFar, byte b) {
    return column < field.length() && (column == 0 || soFar) && b == field.charAt(column);
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
    return atBoundary;
  }

  /** Returns whether an event had the response to the request of the stream, perhaps in part. */
  public boolean sawResponse() {
    return sawResponse;
  }

  /** Returns whether an event had an id. */
  public boolean sawIds() {
    return sawIds;
  }
}

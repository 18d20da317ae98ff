package dev.berth.dialect.mcp;

import io.vertx.core.buffer.Buffer;

/** The lines of server-sent events as they pass, in pieces that may end anywhere. */
public final class EventLines {
  private static final String ID = "id:";

  private int column; // bytes of the line so far
  private boolean isId; // the line begins like an id field
  private boolean afterCr;
  private boolean atBoundary = true;
  private boolean sawIds;

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
      } else {
        afterCr = false;
        atBoundary = false;
        isId = column < ID.length() && (column == 0 || isId) && b == ID.charAt(column);
        sawIds |= isId && column == ID.length() - 1;
        column++;
      }
    }
  }

  /** Returns whether the bytes so far are whole events. */
  public boolean atBoundary() {
    return atBoundary;
  }

  /** Returns whether an event had an id. */
  public boolean sawIds() {
    return sawIds;
  }
}

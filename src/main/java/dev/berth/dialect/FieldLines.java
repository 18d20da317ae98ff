package dev.berth.dialect;

import io.vertx.core.buffer.Buffer;

/**
 * The lines of server-sent events as they pass, in pieces that may end anywhere, and one field of
 * them.
 */
public final class FieldLines {
  private final String field; // with its colon
  private int column; // bytes of the line so far, up to the value of the field
  private boolean isField; // the line begins like the field
  private boolean afterCr;
  private boolean atBoundary = true;
  private boolean sawField;

  /**
   * @param field name, with its colon
   */
  public FieldLines(String field) {
    this.field = field;
  }

  /** Reads the next bytes. */
  public void pass(Buffer piece) {
    for (int i = 0; i < piece.length(); i++) {
      accept(piece.getByte(i));
    }
  }

  /** Reads the next byte. Returns whether it ends a line, perhaps an event. */
  public boolean accept(byte b) {
    boolean isRest = b == '\n' && afterCr; // of one line break
    afterCr = b == '\r';
    if (b == '\n' || b == '\r') {
      atBoundary = isRest ? atBoundary : column == 0;
      column = 0;
      return !isRest;
    }
    atBoundary = false;
    if (column < field.length()) {
      isField = (column == 0 || isField) && b == field.charAt(column);
      column++;
      sawField |= isField && column == field.length();
    }
    return false;
  }

  /** Returns whether the next byte, unless it ends the line, is of the field's value. */
  public boolean isInField() {
    return isField && column == field.length();
  }

  /** Returns whether the bytes so far are whole events. */
  public boolean atBoundary() {
    return atBoundary;
  }

  /** Returns whether the next byte begins an event, whatever it is. */
  boolean atStart() {
    return atBoundary && !afterCr;
  }

  /** Returns whether an event had the field. */
  public boolean sawField() {
    return sawField;
  }
}

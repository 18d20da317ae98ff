package dev.berth.dialect;

import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * An exact scan of one JSON value or of the elements of an array, without a tree or recursion. Time
 * is linear in the bytes. Source of the grammar: RFC 8259.
 */
public final class ElementScanner extends JsonWalker {
  /** Maximum nesting of a value; some parsers recurse. */
  static final int MAX_DEPTH = 256;

  private final BitSet braces = new BitSet(); // of the open brackets, by depth

  private final String expected;

  ElementScanner(Buffer body, String expected) {
    super(body, true);
    this.expected = expected;
  }

  @Override
  String expected() {
    return expected;
  }

  /**
   * Requires that the bytes are one JSON value.
   *
   * @throws DialectProblem with the place of the fault
   */
  public static void requireValue(Buffer body) {
    ElementScanner scanner = new ElementScanner(body, "one JSON value");
    scanner.readValue();
    scanner.requireEnd();
  }

  /**
   * Elements of an array.
   *
   * @param first the bytes of the first ones
   * @param count number of all
   */
  public record ArrayElements(List<Buffer> first, int count) {}

  /**
   * Splits an array. The elements share its bytes.
   *
   * @param most maximum of the elements that are returned
   * @throws DialectProblem with the place of the fault, unless the bytes are one JSON array
   */
  public static ArrayElements split(Buffer array, int most) {
    return new ElementScanner(array, "one JSON array").split(array, most, new ArrayList<>());
  }

  private ArrayElements split(Buffer array, int most, List<Buffer> first) {
    int count = 0;
    skipSpace();
    if (at < end && peek(at) != '[') {
      throw new DialectProblem(
          400,
          "invalid_json",
          "body: begins with '%c' (expected: %s)".formatted(peek(at) & 0xff, expected),
          null);
    }
    expect('[');
    skipSpace();
    if (!take(']')) {
      do {
        skipSpace();
        int start = at;
        readValue();
        if (count++ < most) {
          first.add(array.slice(start, at));
        }
        skipSpace();
      } while (take(','));
      expect(']');
    }
    requireEnd();
    return new ArrayElements(first, count);
  }

  private void readValue() {
    int depth = 0;
    do {
      skipSpace();
      boolean isObject = take('{');
      if (isObject || take('[')) {
        if (++depth > MAX_DEPTH) {
          throw broken(at);
        }
        braces.set(depth, isObject);
        skipSpace();
        if (at >= end || peek(at) != (isObject ? '}' : ']')) {
          readMemberName(isObject);
          continue;
        }
      } else {
        readScalar();
      }
      while (depth > 0) { // behind a value, or in an empty bracket
        skipSpace();
        if (take(',')) {
          readMemberName(braces.get(depth));
          break;
        }
        expect(braces.get(depth--) ? '}' : ']');
      }
    } while (depth > 0);
  }

  private void readMemberName(boolean isObject) {
    if (isObject) {
      skipSpace();
      if (at >= end || !isText(at)) {
        throw broken(at);
      }
      readScalar();
      skipSpace();
      expect(':');
    }
  }

  private void readScalar() {
    int start = at;
    skipValue();
    if (isText(start)) {
      readString(start); // checks its characters
    }
  }
}

package dev.berth.dialect;

import io.netty.buffer.ByteBuf;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.Json;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A walk over JSON bytes that reads single members and skips all other values, without a tree. Time
 * is linear in the bytes; memory is constant. The grammar of a read object is exact; in skipped
 * values only brackets and strings count.
 */
public abstract class JsonWalker {
  private static final int MAX_NAME_LENGTH = 384; // bytes of a name that is read, with its escapes
  private static final int MAX_LITERAL_LENGTH = 1_024; // bytes of a number
  private static final Pattern LITERAL =
      Pattern.compile("-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null");

  protected final ByteBuf bytes;
  protected final int end;
  protected int at;

  protected JsonWalker(ByteBuf bytes) {
    this.bytes = bytes;
    this.end = bytes.readableBytes();
  }

  /**
   * Reads the members of an object behind its opening brace.
   *
   * @param member reads or skips the value of the member with this name
   */
  protected final void readMembers(Consumer<String> member) {
    skipSpace();
    if (!take('}')) {
      do {
        skipSpace();
        String name = readName();
        skipSpace();
        expect(':');
        skipSpace();
        member.accept(name);
        skipSpace();
      } while (take(','));
      expect('}');
    }
  }

  /** Requires that only space follows. */
  protected final void requireEnd() {
    skipSpace();
    if (at < end) {
      throw broken(at);
    }
  }

  /** Reads the name of a member; the empty name for one that is too long to be of interest. */
  protected final String readName() {
    int start = at;
    expect('"');
    at = closingQuote(at) + 1;
    return at - start > MAX_NAME_LENGTH ? "" : (String) decode(start);
  }

  /** Decodes the value that ends at the position. Strict in UTF-8, unlike {@code toString}. */
  protected final @Nullable Object decode(int start) {
    try {
      return Json.decodeValue(
          StandardCharsets.UTF_8
              .newDecoder()
              .decode(bytes.nioBuffer(start, at - start))
              .toString());
    } catch (CharacterCodingException | DecodeException e) {
      throw broken(start);
    }
  }

  /** Returns whether the value that ends at the position is a literal. */
  protected final boolean is(int start, String literal) {
    return at - start == literal.length()
        && bytes.toString(start, at - start, StandardCharsets.US_ASCII).equals(literal);
  }

  protected final void skipValue() {
    switch (at < end ? bytes.getByte(at) : 0) {
      case '"' -> at = closingQuote(at + 1) + 1;
      case '{', '[' -> skipNested();
      default -> skipLiteral();
    }
  }

  private void skipNested() {
    int depth = 0;
    do {
      if (at == end) {
        throw broken(at);
      }
      switch (bytes.getByte(at++)) {
        case '"' -> at = closingQuote(at) + 1;
        case '{', '[' -> depth++;
        case '}', ']' -> depth--;
        default -> {}
      }
    } while (depth > 0);
  }

  private void skipLiteral() {
    int start = at;
    int limit = Math.min(end, start + MAX_LITERAL_LENGTH);
    while (at < limit && " \t\r\n,}".indexOf(bytes.getByte(at)) < 0) {
      at++;
    }
    String literal = bytes.toString(start, at - start, StandardCharsets.ISO_8859_1);
    if (!LITERAL.matcher(literal).matches()) {
      throw broken(start);
    }
  }

  /** Returns the index of the quote that ends a string: behind an even number of backslashes. */
  private int closingQuote(int from) {
    int start = from;
    while (true) {
      int quote = bytes.indexOf(start, end, (byte) '"');
      if (quote < 0) {
        throw broken(end);
      }
      int escape = quote;
      while (escape > start && bytes.getByte(escape - 1) == '\\') {
        escape--;
      }
      if ((quote - escape) % 2 == 0) {
        return quote;
      }
      start = quote + 1;
    }
  }

  protected final void skipSpace() {
    while (at < end && " \t\r\n".indexOf(bytes.getByte(at)) >= 0) {
      at++;
    }
  }

  protected final boolean take(char expected) {
    boolean found = at < end && bytes.getByte(at) == expected;
    at += found ? 1 : 0;
    return found;
  }

  protected final void expect(char expected) {
    if (!take(expected)) {
      throw broken(at);
    }
  }

  protected static DialectProblem broken(int index) {
    return new DialectProblem(
        400,
        "invalid_json",
        "body: broken JSON at byte " + index + " (expected: one JSON object)",
        null);
  }
}

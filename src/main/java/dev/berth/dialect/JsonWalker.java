package dev.berth.dialect;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.Json;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A walk over JSON bytes that reads single members and skips all other values, without a tree. Time
 * is linear in the bytes; memory is constant. The grammar of a read object is exact, except for
 * literals of a walk that is not strict; in skipped values only brackets and strings count.
 */
public abstract class JsonWalker {
  private static final int MAX_MEMBERS = 1_000; // of an object; each costs as much as many bytes
  private static final int MAX_NAME_LENGTH = 384; // bytes of a name that is read, with its escapes
  private static final int MAX_LITERAL_LENGTH = 1_024; // bytes of a number
  private static final Pattern LITERAL =
      Pattern.compile("-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null");

  private static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long EACH_BYTE = 0x0101_0101_0101_0101L; // a factor that repeats a byte

  private final boolean strict;
  private final ByteBuffer[] parts; // of the body
  protected final int end;
  private int part; // that was read last
  private int low; // offset of its first byte
  private int high; // offset behind its last byte
  private byte[] bytes = {}; // with this part
  private int shift; // from an offset to the index in these bytes
  protected int at;
  long reads; // of bytes and of words, for a test

  /**
   * @param strict whether the members of an object are limited in number, literals must be valid,
   *     and names are decoded
   */
  protected JsonWalker(Buffer body, boolean strict) {
    this.strict = strict;
    parts = ((BufferInternal) body).getByteBuf().nioBuffers();
    for (int i = 0; i < parts.length; i++) {
      ByteBuffer each = parts[i].slice();
      parts[i] = each.hasArray() ? each : ByteBuffer.allocate(each.limit()).put(each).flip();
    }
    end = body.length();
    high = parts[0].limit();
    enter();
  }

  /**
   * Reads the members of an object behind its opening brace.
   *
   * @param member reads or skips the value of the member with this name
   */
  protected final void readMembers(Consumer<String> member) {
    skipSpace();
    if (!take('}')) {
      int members = 0;
      do {
        if (++members > MAX_MEMBERS && strict) {
          throw new DialectProblem(
              400, "invalid_json", "body: more than 1000 members (expected: fewer)", null);
        }
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

  /** Returns whether the value at an index is a string. */
  protected final boolean isText(int start) {
    return peek(start) == '"';
  }

  /** Reads the name of a member; the empty name for one that is too long to be of interest. */
  protected final String readName() {
    int start = at;
    expect('"');
    at = closingQuote(at) + 1;
    return at - start > MAX_NAME_LENGTH ? "" : readString(start);
  }

  /** Returns the string that ends at the position. */
  protected final String readString(int start) {
    byte[] text = copy(start + 1, at - 1);
    for (byte b : text) {
      if (strict && (b < ' ' || b == '\\')) { // or not ASCII
        return (String) Objects.requireNonNull(decode(start));
      }
    }
    return new String(text, StandardCharsets.ISO_8859_1);
  }

  /** Decodes the value that ends at the position. Strict in UTF-8, unlike {@code toString}. */
  protected final @Nullable Object decode(int start) {
    try {
      return Json.decodeValue(
          StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(copy(start, at))).toString());
    } catch (CharacterCodingException | DecodeException e) {
      throw broken(start);
    }
  }

  /** Returns whether the value that ends at the position is a literal. */
  protected final boolean is(int start, String literal) {
    return at - start == literal.length() && text(start).equals(literal);
  }

  protected final String text(int start) {
    return new String(copy(start, at), StandardCharsets.ISO_8859_1);
  }

  private byte[] copy(int from, int to) {
    if (from >= low && to <= high) {
      return Arrays.copyOfRange(bytes, from + shift, to + shift);
    }
    byte[] copy = new byte[to - from];
    for (int i = 0; i < copy.length; i++) {
      copy[i] = peek(from + i);
    }
    return copy;
  }

  protected final void skipValue() {
    switch (at < end ? peek(at) : 0) {
      case '"' -> at = closingQuote(at + 1) + 1;
      case '{', '[' -> skipNested();
      default -> skipLiteral();
    }
  }

  private void skipNested() {
    int depth = 0;
    do {
      at = next(at, true);
      byte b = peek(at++);
      if (b == '"') {
        at = closingQuote(at) + 1;
      } else {
        depth += (b | ' ') == '{' ? 1 : -1; // or a square bracket
      }
    } while (depth > 0);
  }

  private void skipLiteral() {
    int start = at;
    int limit = strict ? Math.min(end, start + MAX_LITERAL_LENGTH) : end;
    boolean hasDigitsOnly = at < limit && peek(at) != '0';
    while (at < limit && " \t\r\n,}]".indexOf(peek(at)) < 0) {
      hasDigitsOnly &= peek(at) >= '0' && peek(at) <= '9';
      at++;
    }
    if (strict && (!hasDigitsOnly || at == start) && !LITERAL.matcher(text(start)).matches()) {
      throw broken(start);
    }
  }

  /** Returns the index of the quote that ends a string: behind an even number of backslashes. */
  private int closingQuote(int from) {
    int start = from;
    while (true) {
      int quote = next(start, false);
      int escape = quote;
      while (escape > start && peek(escape - 1) == '\\') {
        escape--;
      }
      if ((quote - escape) % 2 == 0) {
        return quote;
      }
      start = quote + 1;
    }
  }

  /** Returns the index of the next quote or, with {@code brackets}, of a bracket before it. */
  private int next(int from, boolean brackets) {
    int index = from;
    while (index < end) {
      seek(index);
      byte[] in = bytes;
      int offset = index + shift;
      int limit = high + shift;
      long found = 0;
      offset = brackets ? offset : skipWords(in, offset, limit);
      while (offset <= limit - Long.BYTES && found == 0) {
        found = matches((long) WORDS.get(in, offset), brackets);
        offset += found == 0 ? Long.BYTES : Long.numberOfTrailingZeros(found) / Byte.SIZE;
      }
      while (found == 0 && offset < limit) { // the rest of the part
        found = matches(in[offset], brackets);
        offset += found == 0 ? 1 : 0;
      }
      reads += (offset - shift - index) / Long.BYTES + 1;
      index = offset - shift;
      if (found != 0) {
        return index;
      }
    }
    throw broken(end);
  }

  /** Returns the index of the next word with a quote, or of the last bytes. In a tight loop. */
  private static int skipWords(byte[] in, int from, int limit) {
    int offset = from;
    while (offset <= limit - Long.BYTES && matches((long) WORDS.get(in, offset), '"') == 0) {
      offset += Long.BYTES;
    }
    return offset;
  }

  /** Returns a word whose lowest set bit is in the first byte that matches. */
  private static long matches(long word, boolean brackets) {
    long found = matches(word, '"');
    long folded = word | (' ' * EACH_BYTE); // both kinds of bracket
    return brackets ? found | matches(folded, '{') | matches(folded, '}') : found;
  }

  /** Source: the test for a zero byte of Hacker's Delight, 6-1. */
  private static long matches(long word, char wanted) {
    long differences = word ^ (wanted * EACH_BYTE);
    return (differences - EACH_BYTE) & ~differences & (EACH_BYTE << 7);
  }

  protected final void skipSpace() {
    while (at < end && " \t\r\n".indexOf(peek(at)) >= 0) {
      at++;
    }
  }

  protected final boolean take(char expected) {
    boolean found = at < end && peek(at) == expected;
    at += found ? 1 : 0;
    return found;
  }

  protected final void expect(char expected) {
    if (!take(expected)) {
      throw broken(at);
    }
  }

  final byte peek(int index) {
    reads++;
    seek(index);
    return bytes[index + shift];
  }

  private void seek(int index) {
    while (index >= high) {
      low = high;
      high += parts[++part].limit();
      enter();
    }
    while (index < low) {
      high = low;
      low -= parts[--part].limit();
      enter();
    }
  }

  private void enter() {
    bytes = parts[part].array();
    shift = parts[part].arrayOffset() - low;
  }

  /** Returns the expectation of the body, for people. */
  String expected() {
    return "one JSON object";
  }

  protected final DialectProblem broken(int index) {
    return new DialectProblem(
        400,
        "invalid_json",
        "body: broken JSON at byte " + index + " (expected: " + expected() + ")",
        null);
  }
}

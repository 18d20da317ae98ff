package dev.berth.dialect;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.Json;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Finds the model and some other members in a request body, without a tree of the body. Time is
 * linear in the body's length; memory is constant, apart from a copy of a composite body.
 *
 * <p>The grammar of the top level is exact. In nested values the scanner counts brackets and skips
 * strings; the upstream reports errors there. The model may occur only once, since parsers differ
 * in their choice between two.
 */
public final class ModelScanner {
  private static final int MAX_NAME_LENGTH = 384; // bytes of a name that is read, with its escapes
  private static final int MAX_MODEL_LENGTH = 256; // characters
  private static final int MAX_MEMBERS = 1_000; // of the body; each costs as much as many bytes
  private static final int MAX_ESCAPE_LENGTH = 6; // bytes of a character, as in \u0064
  private static final int MAX_LITERAL_LENGTH = 1_024; // bytes of a number
  private static final int MAX_OPTIONS_LENGTH = 4_096; // bytes of stream_options
  private static final Set<String> READ_ONCE = Set.of("model", "stream", "stream_options");
  private static final Pattern LITERAL =
      Pattern.compile("-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null");

  private static final long EACH_BYTE = 0x0101_0101_0101_0101L; // a factor that repeats a byte

  private final ByteBuffer[] parts; // of the body
  private final int end;
  private int part; // that was read last
  private int low; // offset of its first byte
  private int high; // offset behind its last byte
  private int at;
  long reads; // of bytes and of words, for a test

  private final Set<String> names = new HashSet<>();
  private String model = "";
  private int modelStart;
  private int modelEnd;
  private boolean stream;
  private boolean stores;
  private boolean continues;
  private boolean background;
  private @Nullable BodyEdit usageEdit;

  ModelScanner(Buffer body) {
    parts = ((BufferInternal) body).getByteBuf().nioBuffers();
    for (int i = 0; i < parts.length; i++) {
      parts[i] = parts[i].slice().order(ByteOrder.LITTLE_ENDIAN);
    }
    end = body.length();
    high = parts[0].limit();
  }

  /**
   * Scans a whole JSON body.
   *
   * @throws DialectProblem with status 400, for a body that does not name one model
   */
  public static ScannedBody scan(Buffer body) {
    return new ModelScanner(body).scan();
  }

  ScannedBody scan() {
    skipSpace();
    expect('{');
    usageEdit = new BodyEdit(at, at, "\"stream_options\":{\"include_usage\":true},");
    skipSpace();
    if (!take('}')) {
      int members = 0;
      do {
        if (++members > MAX_MEMBERS) {
          throw new DialectProblem(
              400, "invalid_json", "body: more than 1000 members (expected: fewer)", null);
        }
        skipSpace();
        String name = readName();
        skipSpace();
        expect(':');
        skipSpace();
        readMember(name);
        skipSpace();
      } while (take(','));
      expect('}');
    }
    skipSpace();
    if (at < end) {
      throw broken(at);
    }
    if (model.isEmpty()) {
      throw problem("model", "missing_required_parameter", "missing", "the name of a model");
    }
    return new ScannedBody(
        model,
        modelStart,
        modelEnd,
        stream,
        stores,
        continues,
        background,
        stream ? usageEdit : null);
  }

  private void readMember(String name) {
    if (READ_ONCE.contains(name) && !names.add(name)) {
      throw problem(name, "duplicate_parameter", "present twice", "one value");
    }
    if (name.equalsIgnoreCase("model") && !name.equals("model")) { // the same for some servers
      throw problem("model", "invalid_parameter", "written as " + name, "lower case");
    }
    int start = at;
    skipValue();
    switch (name) {
      case "model" -> readModel(start);
      case "stream" -> stream = readFlag(start);
      case "stream_options" -> usageEdit = editOptions(start);
      case "store" -> stores |= is(start, "true");
      case "background" -> background |= is(start, "true");
      case "previous_response_id", "conversation" -> continues |= !is(start, "null");
      default -> {}
    }
  }

  private void readModel(int start) {
    modelStart = start + 1;
    modelEnd = at - 1;
    if (peek(start) != '"') {
      throw problem("model", "invalid_type", "not a string", "the name of a model");
    }
    int length = modelEnd - modelStart;
    model = length > MAX_MODEL_LENGTH * MAX_ESCAPE_LENGTH ? "" : readString(start);
    if (model.isEmpty() || model.length() > MAX_MODEL_LENGTH) {
      throw problem("model", "invalid_value", length + " bytes", "1 to 256 characters");
    }
  }

  private boolean readFlag(int start) {
    if (is(start, "true") || is(start, "false") || is(start, "null")) {
      return is(start, "true");
    }
    throw problem("stream", "invalid_type", "not a boolean", "true or false");
  }

  /** Returns the edit that requests usage. Null if the client requests it or the value is bad. */
  private @Nullable BodyEdit editOptions(int start) {
    Object value = at - start > MAX_OPTIONS_LENGTH ? "" : decode(start);
    if (value != null && !(value instanceof JsonObject)) {
      return null;
    }
    JsonObject options = value == null ? new JsonObject() : (JsonObject) value;
    Object usage = options.getValue("include_usage", false);
    return usage == null || usage.equals(false)
        ? new BodyEdit(start, at, options.put("include_usage", true).encode())
        : null;
  }

  /** Reads the name of a member; the empty name for one that is too long to be of interest. */
  private String readName() {
    int start = at;
    expect('"');
    at = closingQuote(at) + 1;
    return at - start > MAX_NAME_LENGTH ? "" : readString(start);
  }

  /** Returns the string that ends at the position. */
  private String readString(int start) {
    byte[] text = copy(start + 1, at - 1);
    for (byte b : text) {
      if (b < ' ' || b == '\\') { // or not ASCII
        return (String) Objects.requireNonNull(decode(start));
      }
    }
    return new String(text, StandardCharsets.ISO_8859_1);
  }

  /** Decodes the value that ends at the position. Strict in UTF-8, unlike {@code toString}. */
  private @Nullable Object decode(int start) {
    try {
      return Json.decodeValue(
          StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(copy(start, at))).toString());
    } catch (CharacterCodingException | DecodeException e) {
      throw broken(start);
    }
  }

  /** Returns whether the value that ends at the position is a literal. */
  private boolean is(int start, String literal) {
    return at - start == literal.length() && text(start).equals(literal);
  }

  private String text(int start) {
    return new String(copy(start, at), StandardCharsets.ISO_8859_1);
  }

  private byte[] copy(int from, int to) {
    byte[] copy = new byte[to - from];
    for (int i = 0; i < copy.length; i++) {
      copy[i] = peek(from + i);
    }
    return copy;
  }

  private void skipValue() {
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
    int limit = Math.min(end, start + MAX_LITERAL_LENGTH);
    while (at < limit && " \t\r\n,}".indexOf(peek(at)) < 0) {
      at++;
    }
    if (!LITERAL.matcher(text(start)).matches()) {
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
      ByteBuffer bytes = parts[part];
      int offset = index - low;
      int whole = bytes.limit() - Long.BYTES;
      long found = 0;
      while (offset <= whole && found == 0) {
        found = matches(bytes.getLong(offset), brackets);
        offset += found == 0 ? Long.BYTES : Long.numberOfTrailingZeros(found) / Byte.SIZE;
      }
      while (found == 0 && offset < bytes.limit()) { // the rest of the part
        found = matches(bytes.get(offset), brackets);
        offset += found == 0 ? 1 : 0;
      }
      reads += (low + offset - index) / Long.BYTES + 1;
      index = low + offset;
      if (found != 0) {
        return index;
      }
    }
    throw broken(end);
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

  private void skipSpace() {
    while (at < end && " \t\r\n".indexOf(peek(at)) >= 0) {
      at++;
    }
  }

  private boolean take(char expected) {
    boolean found = at < end && peek(at) == expected;
    at += found ? 1 : 0;
    return found;
  }

  private void expect(char expected) {
    if (!take(expected)) {
      throw broken(at);
    }
  }

  private byte peek(int index) {
    reads++;
    seek(index);
    return parts[part].get(index - low);
  }

  private void seek(int index) {
    while (index >= high) {
      low = high;
      high += parts[++part].limit();
    }
    while (index < low) {
      high = low;
      low -= parts[--part].limit();
    }
  }

  private static DialectProblem broken(int index) {
    return new DialectProblem(
        400,
        "invalid_json",
        "body: broken JSON at byte " + index + " (expected: one JSON object)",
        null);
  }

  private static DialectProblem problem(String name, String code, String found, String expected) {
    return new DialectProblem(
        400, code, name + ": " + found + " (expected: " + expected + ")", name);
  }
}

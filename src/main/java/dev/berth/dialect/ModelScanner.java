package dev.berth.dialect;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Finds the model and some other members in a request body, without a tree of the body. Time is
 * linear in the body's length; memory is constant.
 *
 * <p>The grammar of the top level is exact. In nested values the scanner counts brackets and skips
 * strings; the upstream reports errors there. The model may occur only once, since parsers differ
 * in their choice between two.
 */
public final class ModelScanner extends JsonWalker {
  private static final int MAX_MODEL_LENGTH = 256; // characters
  private static final int MAX_ESCAPE_LENGTH = 6; // bytes of a character, as in \u0064
  private static final int MAX_OPTIONS_LENGTH = 4_096; // bytes of stream_options
  private static final Set<String> READ_ONCE = Set.of("model", "stream", "stream_options");

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
    super(body, true);
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
    readMembers(this::readMember);
    requireEnd();
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

  private static DialectProblem problem(String name, String code, String found, String expected) {
    return new DialectProblem(
        400, code, name + ": " + found + " (expected: " + expected + ")", name);
  }
}

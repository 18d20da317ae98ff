package dev.berth.examples;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.Json;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;

/**
 * The model's input: 8 rows of 8 pixels, row by row, each from 0 (blank) to 16 (full ink).
 *
 * <p>Clients send JSON: an array of 64 numbers, or of 8 arrays of 8, bare or as {@code {"pixels":
 * …}}. Deployments send them to each other as 64 floats.
 */
final class Pixels {
  static final int SIDE = 8;
  static final int COUNT = SIDE * SIDE;
  static final int MAX = 16;

  /** Media type of {@link #toBuffer}. */
  static final String MEDIA_TYPE = "application/vnd.berth.pixels";

  private static final String SHAPE = "64 numbers, or 8 rows of 8 numbers";
  private static final String RANGE = "a number from 0 to 16";

  private final float[] values;

  private Pixels(float[] values) {
    this.values = values;
  }

  /** Returns pixels of 64 values within range, which are copied. */
  static Pixels of(float[] values) throws BadInput {
    if (values.length != COUNT) {
      throw new BadInput("pixels", values.length + " numbers", SHAPE);
    }
    for (int i = 0; i < COUNT; i++) {
      requireInRange("pixels[" + i + "]", values[i]);
    }
    return new Pixels(values.clone());
  }

  static Pixels fromJson(Buffer json) throws BadInput {
    Object sent;
    try {
      sent = Json.decodeValue(json);
    } catch (DecodeException malformed) {
      throw new BadInput("body", json, "JSON: " + SHAPE);
    }
    Object pixels = sent instanceof JsonObject object ? object.getValue("pixels") : sent;
    if (!(pixels instanceof JsonArray array)) {
      throw new BadInput("pixels", pixels, SHAPE);
    }
    float[] values = new float[COUNT];
    if (array.size() == COUNT) {
      readRow(array, "pixels", values, 0);
    } else if (array.size() == SIDE) {
      for (int y = 0; y < SIDE; y++) {
        String name = "pixels[" + y + "]";
        if (!(array.getValue(y) instanceof JsonArray row)) {
          throw new BadInput(name, array.getValue(y), "a row of 8 numbers");
        }
        if (row.size() != SIDE) {
          throw new BadInput(name, row.size() + " numbers", "a row of 8 numbers");
        }
        readRow(row, name, values, y * SIDE);
      }
    } else {
      throw new BadInput("pixels", "an array of " + array.size(), SHAPE);
    }
    return new Pixels(values);
  }

  private static void readRow(JsonArray row, String name, float[] into, int from) throws BadInput {
    for (int i = 0; i < row.size(); i++) {
      if (!(row.getValue(i) instanceof Number number)) {
        throw new BadInput(name + "[" + i + "]", row.getValue(i), RANGE);
      }
      into[from + i] = requireInRange(name + "[" + i + "]", number.floatValue());
    }
  }

  private static float requireInRange(String name, float value) throws BadInput {
    if (!(value >= 0 && value <= MAX)) { // the negation rejects NaN too
      throw new BadInput(name, value, RANGE);
    }
    return value;
  }

  static Pixels fromBuffer(Buffer bytes) throws BadInput {
    if (bytes.length() != COUNT * Float.BYTES) {
      throw new BadInput("body", bytes.length() + " bytes", COUNT * Float.BYTES + " bytes");
    }
    float[] values = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      values[i] = bytes.getFloat(i * Float.BYTES);
    }
    return of(values);
  }

  Buffer toBuffer() {
    Buffer bytes = Buffer.buffer(COUNT * Float.BYTES);
    for (float value : values) {
      bytes.appendFloat(value);
    }
    return bytes;
  }

  /** Returns a copy of the 64 values. */
  float[] values() {
    return values.clone();
  }
}

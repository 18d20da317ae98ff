package dev.berth.examples;

import ai.onnxruntime.OnnxJavaType;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Numbers of one type in a shape, the input or output of a model. Treated as immutable.
 *
 * <p>Source: its JSON is a tensor of the Open Inference Protocol (KServe V2), {@code {"name": "x",
 * "datatype": "FP32", "shape": [1, 2], "data": [0.5, 1]}}; data may be nested too.
 *
 * @param shape extents, the outermost first
 * @param values in row-major order, with the byte order of the machine
 */
record Tensor(OnnxJavaType type, long[] shape, ByteBuffer values) {

  /** Supported types, whose values JSON can represent, by name. */
  static final Map<String, OnnxJavaType> TYPES = new TreeMap<>();

  static {
    for (OnnxJavaType type : OnnxJavaType.values()) {
      switch (type) {
        case FLOAT, DOUBLE, INT8, INT16, INT32, INT64, UINT8, BOOL ->
            TYPES.put(datatype(type), type);
        default -> {} // strings and half-precision floats
      }
    }
  }

  static Tensor of(float[] values, long... shape) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length * Float.BYTES);
    bytes.order(ByteOrder.nativeOrder()).asFloatBuffer().put(values);
    return new Tensor(OnnxJavaType.FLOAT, shape, bytes);
  }

  /** Returns a tensor of zeros. */
  static Tensor zeros(OnnxJavaType type, long[] shape) {
    long count = Arrays.stream(shape).reduce(1, Math::multiplyExact);
    ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(count * type.size));
    return new Tensor(type, shape, bytes.order(ByteOrder.nativeOrder()));
  }

  /** Concatenates tensors along the first axis; they must differ only in their number of rows. */
  static Tensor stack(List<Tensor> parts) {
    Tensor first = parts.get(0);
    long[] shape = first.shape.clone();
    shape[0] = parts.stream().mapToLong(part -> part.shape[0]).sum();
    Tensor all = zeros(first.type, shape);
    ByteBuffer into = all.values.duplicate();
    parts.forEach(part -> into.put(part.values.duplicate()));
    return all;
  }

  /** Returns rows of the first axis, without a copy. */
  Tensor rows(long from, long count) {
    long[] part = shape.clone();
    part[0] = count;
    int bytes = Math.toIntExact(values.capacity() / shape[0]);
    ByteBuffer slice = values.slice(Math.toIntExact(from * bytes), Math.toIntExact(count * bytes));
    return new Tensor(type, part, slice.order(ByteOrder.nativeOrder()));
  }

  boolean isLikeButForRows(Tensor other) {
    return shape.length > 0
        && Arrays.equals(shape, 1, shape.length, other.shape, 1, other.shape.length);
  }

  float[] floats() {
    FloatBuffer floats = values.duplicate().order(ByteOrder.nativeOrder()).asFloatBuffer();
    float[] all = new float[floats.remaining()];
    floats.get(all);
    return all;
  }

  /** Returns a copy of the values in direct memory, for native code. */
  ByteBuffer direct() {
    ByteBuffer direct = ByteBuffer.allocateDirect(values.capacity());
    return direct.order(ByteOrder.nativeOrder()).put(values.duplicate()).flip();
  }

  /** Returns the type and shape, for example {@code FP32[1, 64]}. */
  String kind() {
    return kind(type, Arrays.stream(shape).mapToObj(Long::toString).toList());
  }

  static String kind(OnnxJavaType type, List<String> extents) {
    return extents.stream().collect(Collectors.joining(", ", datatype(type) + "[", "]"));
  }

  private static String datatype(OnnxJavaType type) {
    return switch (type) {
      case FLOAT -> "FP32";
      case DOUBLE -> "FP64";
      default -> type.name(); // same name in both: INT64, BOOL
    };
  }

  // --- JSON form ---

  /**
   * Parses a tensor.
   *
   * @param at path for errors, for example {@code inputs[0]}
   */
  static Tensor fromJson(String at, JsonObject json) throws BadInput {
    Object named = json.getValue("datatype");
    OnnxJavaType type = named instanceof String name ? TYPES.get(name) : null;
    if (type == null) {
      throw new BadInput(at + ".datatype", named, "one of " + String.join(", ", TYPES.keySet()));
    }
    List<Object> extents = flat(at + ".shape", json.getValue("shape"));
    List<Object> values = flat(at + ".data", json.getValue("data"));
    long[] shape = new long[extents.size()];
    long count = 1;
    for (int axis = 0; axis < shape.length; axis++) {
      if (!(extents.get(axis) instanceof Integer extent) || extent < 1) {
        throw new BadInput(at + ".shape[" + axis + "]", extents.get(axis), "an integer above 0");
      }
      shape[axis] = extent;
      count = Math.min(count * extent, Integer.MAX_VALUE); // beyond any request's size
    }
    if (count != values.size()) {
      throw new BadInput(at + ".data", values.size() + " values", count + ", as its shape says");
    }
    Tensor tensor = zeros(type, shape);
    ByteBuffer into = tensor.values.duplicate().order(ByteOrder.nativeOrder());
    for (int index = 0; index < count; index++) {
      if (!put(into, type, values.get(index))) {
        throw new BadInput(at + ".data[" + index + "]", values.get(index), datatype(type));
      }
    }
    return tensor;
  }

  private static List<Object> flat(String at, @Nullable Object json) throws BadInput {
    if (!(json instanceof JsonArray array)) {
      throw new BadInput(at, json, "a list");
    }
    List<Object> all = new ArrayList<>(array.size());
    for (int index = 0; index < array.size(); index++) {
      if (array.getValue(index) instanceof JsonArray inner) {
        all.addAll(flat(at, inner));
      } else {
        all.add(array.getValue(index));
      }
    }
    return all;
  }

  /** Writes a value; returns whether the type can represent it. */
  private static boolean put(ByteBuffer into, OnnxJavaType type, @Nullable Object value) {
    if (type == OnnxJavaType.BOOL && value instanceof Boolean flag) {
      into.put((byte) (flag ? 1 : 0));
    } else if (type == OnnxJavaType.FLOAT && value instanceof Number number) {
      into.putFloat(number.floatValue());
      return Float.isFinite(number.floatValue());
    } else if (type == OnnxJavaType.DOUBLE && value instanceof Number number) {
      into.putDouble(number.doubleValue());
      return Double.isFinite(number.doubleValue());
    } else if (value instanceof Integer || value instanceof Long) {
      return putWhole(into, type, ((Number) value).longValue());
    } else {
      return false;
    }
    return true;
  }

  private static boolean putWhole(ByteBuffer into, OnnxJavaType type, long value) {
    switch (type) {
      case INT64 -> into.putLong(value);
      case INT32 -> into.putInt((int) value);
      case INT16 -> into.putShort((short) value);
      case INT8, UINT8 -> into.put((byte) value);
      default -> {
        return false;
      }
    }
    int bits = type.size * Byte.SIZE;
    return type == OnnxJavaType.UINT8
        ? value >> bits == 0
        : value << (Long.SIZE - bits) >> (Long.SIZE - bits) == value;
  }

  JsonObject toJson(String name) {
    return describe(name, type, shape).put("data", data());
  }

  static JsonObject describe(String name, OnnxJavaType type, long[] shape) {
    JsonArray extents = new JsonArray();
    Arrays.stream(shape).forEach(extents::add);
    return new JsonObject().put("name", name).put("datatype", datatype(type)).put("shape", extents);
  }

  private JsonArray data() {
    JsonArray data = new JsonArray();
    ByteBuffer from = values.duplicate().order(ByteOrder.nativeOrder());
    while (from.hasRemaining()) {
      data.add(
          switch (type) {
            case FLOAT -> from.getFloat();
            case DOUBLE -> from.getDouble();
            case INT64 -> from.getLong();
            case INT32 -> from.getInt();
            case INT16 -> from.getShort();
            case INT8 -> from.get();
            case UINT8 -> from.get() & 0xff;
            case BOOL -> from.get() != 0;
            default -> throw new IllegalStateException("type: " + type);
          });
    }
    return data;
  }
}

package dev.berth.api;

import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The analysis of a value class: whether its values can be shared, and the maximum size of their
 * JSON. Records of records, strings, boxes, primitives and enums are deeply immutable and can be
 * shared. The size is computed without serialization.
 */
final class ValueShape {
  /**
   * Maximum JSON size of a shared value in bytes. Larger values are sent as chunks, within the
   * limits of streamed bodies.
   */
  static final int MAX_SHARED_BYTES = 64 << 10;

  private static final int NUMBER_BYTES = 26; // -1.7976931348623157E308 and a comma
  private static final int CHAR_BYTES = 6; // \u0000
  private static final ClassValue<ValueShape> KNOWN =
      new ClassValue<>() {
        @Override
        protected ValueShape computeValue(Class<?> type) {
          return new ValueShape(type);
        }
      };

  private final boolean shared;
  // accessors of strings, enums and records
  private final List<Method> measured = new ArrayList<>();
  private int fixed = 2; // maximum bytes of all other components
  private volatile boolean written; // a value was serialized: the class has a JSON form

  private ValueShape(Class<?> type) {
    shared = type.isRecord() && neverChanges(type, new HashSet<>());
    if (!shared) {
      return;
    }
    for (RecordComponent part : type.getRecordComponents()) {
      fixed += part.getName().length() * CHAR_BYTES + 6 + NUMBER_BYTES;
      Class<?> of = part.getType();
      if (of.isRecord() || of.isEnum() || of == String.class) {
        part.getAccessor().setAccessible(true); // its class may be private
        measured.add(part.getAccessor());
      }
    }
  }

  private static boolean neverChanges(Class<?> type, Set<Class<?>> above) {
    if (!type.isRecord()) {
      boolean isBox = MethodType.methodType(type).hasWrappers();
      return type.isPrimitive() || type == String.class || type.isEnum() || isBox;
    }
    return !above.add(type)
        || Stream.of(type.getRecordComponents())
            .allMatch(part -> neverChanges(part.getType(), above));
  }

  /**
   * Returns the maximum JSON size of a value in bytes; -1 when the value cannot be shared or may be
   * too large. The first value of each class is serialized anyway, so that a class without a JSON
   * form fails at once and not only on the first call to another instance.
   *
   * @throws IllegalArgumentException when the value has no JSON form
   */
  static int sharedBytes(Object value, Json json) {
    ValueShape shape = KNOWN.get(value.getClass());
    int bytes = shape.shared ? shape.bytes(value, 0) : MAX_SHARED_BYTES + 1;
    if (bytes > MAX_SHARED_BYTES) {
      return -1;
    }
    if (!shape.written) {
      json.write(value);
      shape.written = true;
    }
    return bytes;
  }

  /**
   * Returns {@code before} plus the bytes of this value. Stops at the limit, which also bounds the
   * recursion.
   */
  private int bytes(Object value, int before) {
    int bytes = before + fixed;
    try {
      for (int i = 0; i < measured.size() && bytes <= MAX_SHARED_BYTES; i++) {
        Object part = measured.get(i).invoke(value);
        if (part instanceof Record inner) {
          bytes = KNOWN.get(inner.getClass()).bytes(inner, bytes);
        } else if (part != null) {
          String text = part instanceof Enum<?> constant ? constant.name() : (String) part;
          bytes += Math.min(text.length(), MAX_SHARED_BYTES) * CHAR_BYTES;
        }
      }
    } catch (IllegalAccessException | InvocationTargetException throwsWhenRead) {
      return MAX_SHARED_BYTES + 1; // serialization then reports the failure
    }
    return bytes;
  }
}

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
 * Whether values of a class can be shared as they are: records of records, strings, boxes,
 * primitives and enums, all the way down, never change. And how long their JSON is at most, which
 * takes no JSON to tell.
 */
final class ValueShape {
  /** Bytes; longer ones travel as their bytes, in pieces, under the bounds that those have. */
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
  private final List<Method> measured = new ArrayList<>(); // of strings, enums and records
  private int fixed = 2; // bytes of all else
  private volatile boolean written; // one of them was: they have a JSON

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
   * How many bytes its JSON has at most; -1 when it cannot be shared, or may have too many. The
   * first of a class is written all the same: what has no JSON is not to work for as long as nobody
   * needs it.
   *
   * @throws IllegalArgumentException when it has none
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

  /** With those before it; it goes on until they are too many, and no deeper. */
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
      return MAX_SHARED_BYTES + 1; // the codec will say so
    }
    return bytes;
  }
}

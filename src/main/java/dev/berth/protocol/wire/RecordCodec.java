package dev.berth.protocol.wire;

import static java.lang.invoke.MethodType.methodType;

import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.protocol.Admission;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Wire;
import dev.berth.protocol.json.RecordReader;
import io.vertx.core.buffer.Buffer;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The wire form of a message: the components of its record in declared order, each in the form of
 * its type or its {@link Wire} annotation. A flag precedes a nullable component. A nested record
 * that is not a {@link Wire.WireKey} has a length prefix, so that a reader skips components that a
 * newer writer appended.
 *
 * <p>Reading and writing use one method handle each, created once. No value is boxed, and both
 * follow the same declaration, so they cannot differ.
 */
final class RecordCodec {
  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

  /**
   * Types that are not decomposed here, with the name of their method in {@link WireWriter} and
   * {@link WireReader}.
   */
  private static final Map<Class<?>, String> METHODS =
      Map.ofEntries(
          Map.entry(boolean.class, "bool"),
          Map.entry(int.class, "int32"),
          Map.entry(long.class, "varint"),
          Map.entry(double.class, "float64"),
          Map.entry(String.class, "string"),
          Map.entry(Buffer.class, "bytes"),
          Map.entry(Headers.class, "headers"),
          Map.entry(Request.class, "request"),
          Map.entry(Response.class, "response"),
          Map.entry(Admission.class, "admission"),
          Map.entry(OptionalInt.class, "optionalInt"),
          Map.entry(Map.class, "texts"),
          Map.entry(DeploymentId.class, "deployment"));

  /** Type number, the byte that precedes the fields. */
  final int number;

  private final MethodHandle read;
  private final MethodHandle write;

  RecordCodec(int number, Class<?> type) {
    this.number = number;
    try {
      read = parts(type, "").asType(methodType(BusMessage.class, WireReader.class));
      write = parts(type).asType(methodType(void.class, WireWriter.class, BusMessage.class));
    } catch (ReflectiveOperationException unknown) {
      throw new IllegalStateException(type + " (expected: components with a wire form)", unknown);
    }
  }

  BusMessage read(WireReader in) {
    try {
      return (BusMessage) read.invokeExact(in);
    } catch (Throwable thrown) {
      throw unchecked(thrown);
    }
  }

  void write(BusMessage message, WireWriter out) {
    try {
      write.invokeExact(out, message);
    } catch (Throwable thrown) {
      throw unchecked(thrown);
    }
  }

  /**
   * Returns a thrown failure as an unchecked one. Handles may throw anything, but records, the
   * reader and the writer throw only unchecked failures.
   */
  static RuntimeException unchecked(Throwable thrown) {
    if (thrown instanceof Error error) {
      throw error;
    }
    return (RuntimeException) thrown;
  }

  // --- construction ---

  /** Returns a handle that appends a value: (WireWriter, T)void. */
  private static MethodHandle writer(Type of, @Nullable Wire as)
      throws ReflectiveOperationException {
    if (of instanceof ParameterizedType list && list.getRawType() == List.class) {
      MethodHandle each =
          writer(list.getActualTypeArguments()[0], null)
              .asType(methodType(void.class, WireWriter.class, Object.class));
      return MethodHandles.insertArguments(
          method(WireWriter.class, "list", void.class, List.class, MethodHandle.class), 2, each);
    }
    Class<?> type = RecordReader.rawType(of);
    if (type.isEnum()) {
      return method(WireWriter.class, "ordinal", void.class, Enum.class)
          .asType(methodType(void.class, WireWriter.class, type));
    }
    if (METHODS.containsKey(type)) {
      return method(WireWriter.class, methodFor(type, as), void.class, wholeOf(type, as))
          .asType(methodType(void.class, WireWriter.class, type));
    }
    if (type.isAnnotationPresent(Wire.WireKey.class)) {
      return parts(type);
    }
    MethodHandle all = parts(type).asType(methodType(void.class, WireWriter.class, Object.class));
    return MethodHandles.insertArguments(
            method(WireWriter.class, "record", void.class, Object.class, MethodHandle.class),
            2,
            all)
        .asType(methodType(void.class, WireWriter.class, type));
  }

  /** Returns a handle that appends the components of a record. */
  private static MethodHandle parts(Class<?> type) throws ReflectiveOperationException {
    MethodHandle all = MethodHandles.empty(methodType(void.class, WireWriter.class, type));
    RecordComponent[] parts = type.getRecordComponents();
    for (int i = parts.length - 1; i >= 0; i--) { // each component precedes those already folded
      MethodHandle part = writer(parts[i].getGenericType(), parts[i].getAnnotation(Wire.class));
      if (mayBeNull(parts[i])) {
        MethodHandle isThere =
            method(WireWriter.class, "isThere", boolean.class, Object.class)
                .asType(part.type().changeReturnType(boolean.class));
        part = MethodHandles.guardWithTest(isThere, part, MethodHandles.empty(part.type()));
      }
      MethodHandle value = LOOKUP.unreflect(parts[i].getAccessor());
      all = MethodHandles.foldArguments(all, MethodHandles.filterArguments(part, 1, value));
    }
    return all;
  }

  /** Returns a handle that reads a value: (WireReader)T. Error messages contain the path. */
  private static MethodHandle reader(Type of, @Nullable Wire as, String path)
      throws ReflectiveOperationException {
    if (of instanceof ParameterizedType list && list.getRawType() == List.class) {
      MethodHandle each =
          reader(list.getActualTypeArguments()[0], null, path)
              .asType(methodType(Object.class, WireReader.class));
      return MethodHandles.insertArguments(
          method(WireReader.class, "list", List.class, String.class, MethodHandle.class),
          1,
          path,
          each);
    }
    Class<?> type = RecordReader.rawType(of);
    if (type.isEnum()) {
      MethodHandle value =
          method(WireReader.class, "enumValue", Object.class, String.class, Object[].class);
      return MethodHandles.insertArguments(value, 1, path, type.getEnumConstants())
          .asType(methodType(type, WireReader.class));
    }
    if (METHODS.containsKey(type)) {
      MethodHandle value =
          method(WireReader.class, methodFor(type, as), wholeOf(type, as), String.class);
      return MethodHandles.explicitCastArguments( // an int may be read as a signed long
          MethodHandles.insertArguments(value, 1, path), methodType(type, WireReader.class));
    }
    if (type.isAnnotationPresent(Wire.WireKey.class)) {
      return parts(type, path);
    }
    MethodHandle all = parts(type, path).asType(methodType(Object.class, WireReader.class));
    return MethodHandles.insertArguments(
            method(WireReader.class, "record", Object.class, String.class, MethodHandle.class),
            1,
            path,
            all)
        .asType(methodType(type, WireReader.class));
  }

  /** Returns a handle that reads the components of a record. */
  private static MethodHandle parts(Class<?> type, String path)
      throws ReflectiveOperationException {
    RecordComponent[] parts = type.getRecordComponents();
    Class<?>[] types = new Class<?>[parts.length];
    MethodHandle[] values = new MethodHandle[parts.length];
    for (int i = 0; i < parts.length; i++) {
      String name = path.isEmpty() ? parts[i].getName() : path + "." + parts[i].getName();
      types[i] = parts[i].getType();
      values[i] = reader(parts[i].getGenericType(), parts[i].getAnnotation(Wire.class), name);
      if (mayBeNull(parts[i])) {
        MethodHandle isThere = method(WireReader.class, "bool", boolean.class, String.class);
        values[i] =
            MethodHandles.guardWithTest(
                MethodHandles.insertArguments(isThere, 1, name),
                values[i],
                MethodHandles.empty(values[i].type()));
      }
    }
    MethodHandle made = LOOKUP.findConstructor(type, methodType(void.class, types));
    return MethodHandles.permuteArguments( // values are read in order
        MethodHandles.filterArguments(made, 0, values),
        methodType(type, WireReader.class),
        new int[parts.length]);
  }

  private static boolean mayBeNull(RecordComponent part) {
    return part.getAnnotatedType().isAnnotationPresent(Nullable.class);
  }

  /**
   * Returns the type that is written and read: long for an int with another form than the default.
   */
  private static Class<?> wholeOf(Class<?> type, @Nullable Wire as) {
    return as == null || !type.isPrimitive() ? type : long.class;
  }

  private static String methodFor(Class<?> type, @Nullable Wire as) {
    if (as == null) {
      return METHODS.get(type);
    }
    return switch (as.value()) {
      case FIXED -> "fixed64";
      case COST -> "cost";
      case DEMAND -> "demand";
      case SIGNED -> "signed";
      case LEFT -> "timeLeft";
      case TOLD -> "lastDeployment";
    };
  }

  private static MethodHandle method(Class<?> of, String name, Class<?> back, Class<?>... takes)
      throws ReflectiveOperationException {
    return LOOKUP.findVirtual(of, name, methodType(back, takes));
  }
}

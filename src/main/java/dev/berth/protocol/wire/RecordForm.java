package dev.berth.protocol.wire;

import static java.lang.invoke.MethodType.methodType;

import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.protocol.Admission;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.RoutingSnapshot.Route;
import dev.berth.protocol.Wire;
import io.vertx.core.buffer.Buffer;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How a message crosses: the components of its record in declared order, each as its type or its
 * {@link Wire} says, records within it likewise. Two method handles, made once: no value is boxed,
 * and what writes and what reads cannot differ.
 */
final class RecordForm {
  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

  /** What is not taken apart here: the methods of {@link WireWriter} and {@link WireReader}. */
  private static final Map<Class<?>, String> METHODS =
      Map.ofEntries(
          Map.entry(boolean.class, "bool"),
          Map.entry(int.class, "int32"),
          Map.entry(long.class, "varint"),
          Map.entry(double.class, "float64"),
          Map.entry(String.class, "string"),
          Map.entry(Buffer.class, "bytes"),
          Map.entry(Request.class, "request"),
          Map.entry(Response.class, "response"),
          Map.entry(Admission.class, "admission"),
          Map.entry(HandlerTime.class, "time"),
          Map.entry(DeploymentId.class, "deployment"),
          Map.entry(Route.class, "route"));

  /** The byte in front of its fields. */
  final int number;

  private final MethodHandle read;
  private final MethodHandle write;

  RecordForm(int number, Class<? extends BusMessage> type) {
    this.number = number;
    try {
      read = reader(type, null, "").asType(methodType(BusMessage.class, WireReader.class));
      write = writer(type, null).asType(methodType(void.class, WireWriter.class, BusMessage.class));
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

  /** Handles may throw anything; records, and what reads and writes here, throw no other. */
  static RuntimeException unchecked(Throwable thrown) {
    if (thrown instanceof Error error) {
      throw error;
    }
    return (RuntimeException) thrown;
  }

  // --- how they are made ---

  /** Appends a value: (WireWriter, T)void. */
  private static MethodHandle writer(Type of, @Nullable Wire as)
      throws ReflectiveOperationException {
    if (of instanceof ParameterizedType list) {
      MethodHandle each =
          writer(list.getActualTypeArguments()[0], null)
              .asType(methodType(void.class, WireWriter.class, Object.class));
      return MethodHandles.insertArguments(
          method(WireWriter.class, "list", void.class, List.class, MethodHandle.class), 2, each);
    }
    Class<?> type = (Class<?>) of;
    if (type.isEnum()) {
      return method(WireWriter.class, "ordinal", void.class, Enum.class)
          .asType(methodType(void.class, WireWriter.class, type));
    }
    if (METHODS.containsKey(type)) {
      Class<?> whole = as == null ? type : long.class;
      return method(WireWriter.class, methodFor(type, as), void.class, whole)
          .asType(methodType(void.class, WireWriter.class, type));
    }
    MethodHandle all = MethodHandles.empty(methodType(void.class, WireWriter.class, type));
    RecordComponent[] parts = type.getRecordComponents();
    for (int i = parts.length - 1; i >= 0; i--) { // each goes before those that follow it
      MethodHandle part = writer(parts[i].getGenericType(), parts[i].getAnnotation(Wire.class));
      MethodHandle value = LOOKUP.unreflect(parts[i].getAccessor());
      all = MethodHandles.foldArguments(all, MethodHandles.filterArguments(part, 1, value));
    }
    return all;
  }

  /** Reads a value, of which messages say where it stands: (WireReader)T. */
  private static MethodHandle reader(Type of, @Nullable Wire as, String path)
      throws ReflectiveOperationException {
    if (of instanceof ParameterizedType list) {
      MethodHandle each =
          reader(list.getActualTypeArguments()[0], null, path)
              .asType(methodType(Object.class, WireReader.class));
      return MethodHandles.insertArguments(
          method(WireReader.class, "list", List.class, String.class, MethodHandle.class),
          1,
          path,
          each);
    }
    Class<?> type = (Class<?>) of;
    if (type.isEnum()) {
      MethodHandle value =
          method(WireReader.class, "enumValue", Object.class, String.class, Object[].class);
      return MethodHandles.insertArguments(value, 1, path, type.getEnumConstants())
          .asType(methodType(type, WireReader.class));
    }
    if (METHODS.containsKey(type)) {
      Class<?> whole = as == null ? type : long.class;
      MethodHandle value = method(WireReader.class, methodFor(type, as), whole, String.class);
      return MethodHandles.explicitCastArguments( // an int may be signed, as a long is
          MethodHandles.insertArguments(value, 1, path), methodType(type, WireReader.class));
    }
    RecordComponent[] parts = type.getRecordComponents();
    Class<?>[] types = new Class<?>[parts.length];
    MethodHandle[] values = new MethodHandle[parts.length];
    for (int i = 0; i < parts.length; i++) {
      String name = path.isEmpty() ? parts[i].getName() : path + "." + parts[i].getName();
      types[i] = parts[i].getType();
      values[i] = reader(parts[i].getGenericType(), parts[i].getAnnotation(Wire.class), name);
    }
    MethodHandle made = LOOKUP.findConstructor(type, methodType(void.class, types));
    return MethodHandles.permuteArguments( // values are read from the first to the last
        MethodHandles.filterArguments(made, 0, values),
        methodType(type, WireReader.class),
        new int[parts.length]);
  }

  private static String methodFor(Class<?> type, @Nullable Wire as) {
    if (as == null) {
      return METHODS.get(type);
    }
    return as.value() == Wire.Form.FIXED ? "fixed64" : "signed";
  }

  private static MethodHandle method(Class<?> of, String name, Class<?> back, Class<?>... takes)
      throws ReflectiveOperationException {
    return LOOKUP.findVirtual(of, name, methodType(back, takes));
  }
}

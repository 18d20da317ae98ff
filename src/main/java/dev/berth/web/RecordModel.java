package dev.berth.web;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A record class: its components, accessors and constructor. */
final class RecordModel {
  /** A component by its name in JSON. */
  record Part(String name, ValueModel model, MethodHandle accessor) {
    @Nullable Object of(Object owner) {
      try {
        return (Object) accessor.invokeExact(owner);
      } catch (Throwable failure) {
        throw thrown(failure);
      }
    }
  }

  private static final Set<String> OPEN =
      Set.of("JsonIgnoreProperties", "JsonAlias", "JsonUnwrapped", "JsonDeserialize");

  final Class<?> type;

  /** Whether Jackson refuses unknown fields, as no annotation of Jackson states otherwise. */
  final boolean closed;

  final List<Part> parts = new ArrayList<>();
  private final MethodHandle constructor;

  RecordModel(Class<?> type) {
    this.type = type;
    closed =
        Stream.concat(
                Stream.of(type),
                Stream.of(type.getRecordComponents()).map(RecordComponent::getAccessor))
            .flatMap(each -> Stream.of(each.getAnnotations()))
            .noneMatch(each -> OPEN.contains(each.annotationType().getSimpleName()));
    try {
      Class<?>[] types =
          Stream.of(type.getRecordComponents())
              .map(RecordComponent::getType)
              .toArray(Class<?>[]::new);
      Constructor<?> canonical = type.getDeclaredConstructor(types);
      canonical.setAccessible(true); // the record may be private
      constructor =
          MethodHandles.lookup()
              .unreflectConstructor(canonical)
              .asSpreader(Object[].class, types.length)
              .asType(MethodType.methodType(Object.class, Object[].class));
    } catch (ReflectiveOperationException impossible) { // each record has it
      throw new IllegalStateException(impossible);
    }
  }

  /** Adds a component. */
  void add(String name, ValueModel model, RecordComponent component) {
    try {
      component.getAccessor().setAccessible(true);
      MethodHandle accessor = MethodHandles.lookup().unreflect(component.getAccessor());
      MethodType erased = MethodType.methodType(Object.class, Object.class);
      parts.add(new Part(name, model, accessor.asType(erased)));
    } catch (IllegalAccessException impossible) { // made accessible
      throw new IllegalStateException(impossible);
    }
  }

  /** Creates a record from the values of all components, in order. */
  Object create(@Nullable Object[] values) {
    try {
      return (Object) constructor.invokeExact(values);
    } catch (Throwable failure) {
      throw thrown(failure);
    }
  }

  /** Returns the names of the components, for messages. */
  @Override
  public String toString() {
    return parts.stream().map(Part::name).toList().toString();
  }

  private static RuntimeException thrown(Throwable failure) {
    if (failure instanceof Error error) {
      throw error;
    }
    return failure instanceof RuntimeException unchecked
        ? unchecked
        : new IllegalStateException(failure);
  }
}

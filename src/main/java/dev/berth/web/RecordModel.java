package dev.berth.web;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A record class: its components, accessors and constructor. */
final class RecordModel {
  /** A component by its name in JSON. */
  record RecordPart(String name, ValueModel model, Method accessor) {}

  private static final Set<String> OPEN =
      Set.of("JsonIgnoreProperties", "JsonAlias", "JsonUnwrapped", "JsonDeserialize");

  final Class<?> type;
  final List<RecordPart> parts = new ArrayList<>();

  /** Refusal of unknown fields: true unless an annotation of Jackson states otherwise. */
  final boolean closed;

  private final Constructor<?> constructor;

  RecordModel(Class<?> type) {
    this.type = type;
    List<RecordComponent> components = List.of(type.getRecordComponents());
    closed =
        Stream.concat(Stream.of(type), components.stream().map(RecordComponent::getAccessor))
            .flatMap(each -> Stream.of(each.getAnnotations()))
            .noneMatch(each -> OPEN.contains(each.annotationType().getSimpleName()));
    try {
      constructor =
          type.getDeclaredConstructor(
              components.stream().map(RecordComponent::getType).toArray(Class<?>[]::new));
      constructor.setAccessible(true); // the record may be private
    } catch (NoSuchMethodException impossible) { // each record has it
      throw new IllegalStateException(impossible);
    }
  }

  /** Adds a component. */
  void add(String name, ValueModel model, Method accessor) {
    accessor.setAccessible(true);
    parts.add(new RecordPart(name, model, accessor));
  }

  /** Returns the value of a component. */
  static @Nullable Object valueOf(RecordPart part, Object owner) {
    try {
      return part.accessor().invoke(owner);
    } catch (ReflectiveOperationException failed) {
      throw new IllegalStateException(part.accessor().toString(), failed);
    }
  }

  /**
   * Creates a record from the values of all components, in order.
   *
   * @throws InvocationTargetException when the constructor fails
   */
  Object create(@Nullable Object[] values) throws InvocationTargetException {
    try {
      return constructor.newInstance(values);
    } catch (InstantiationException | IllegalAccessException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /** Returns the names of the components, for messages. */
  @Override
  public String toString() {
    return parts.stream().map(RecordPart::name).toList().toString();
  }
}

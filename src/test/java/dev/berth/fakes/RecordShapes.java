package dev.berth.fakes;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What messages are made of, as one number: it is another when a component of any record in them
 * has another name, type or place, or an enum another constant.
 */
public final class RecordShapes {
  private RecordShapes() {}

  /** The first 16 hexadecimal digits of a SHA-256. */
  public static String digest(Collection<? extends Class<?>> messages) {
    Map<Class<?>, String> shapes = new LinkedHashMap<>();
    Queue<Class<?>> next = new ArrayDeque<>(messages);
    while (!next.isEmpty()) {
      Class<?> type = next.remove();
      if (type.getName().startsWith("dev.berth.") && !shapes.containsKey(type)) {
        shapes.put(type, shape(type, next));
      }
    }
    // In no order of the compiler's: those of different JDKs list subclasses differently.
    String all = shapes.values().stream().sorted().collect(Collectors.joining("\n"));
    try {
      MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
      return HexFormat.of()
          .formatHex(sha256.digest(all.getBytes(StandardCharsets.UTF_8)))
          .substring(0, 16);
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError(impossible);
    }
  }

  /**
   * @param next gets what it refers to
   */
  private static String shape(Class<?> type, Queue<Class<?>> next) {
    if (type.isSealed()) {
      next.addAll(Arrays.asList(type.getPermittedSubclasses()));
    }
    Stream<String> parts = Stream.of();
    if (type.isRecord()) {
      parts = Stream.of(type.getRecordComponents()).map(each -> part(each, next));
    } else if (type.isEnum()) {
      parts = Stream.of(type.getEnumConstants()).map(String::valueOf);
    }
    return type.getSimpleName() + parts.collect(Collectors.joining(", ", "(", ")"));
  }

  private static String part(RecordComponent component, Queue<Class<?>> next) {
    refer(component.getGenericType(), next);
    // Without packages: no form has them, and a type may move.
    String type = component.getGenericType().getTypeName().replaceAll("\\b(?:[a-z]\\w*\\.)+", "");
    return type + " " + component.getName();
  }

  private static void refer(Type type, Queue<Class<?>> next) {
    if (type instanceof Class<?> raw) {
      next.add(raw);
    } else if (type instanceof ParameterizedType of) {
      refer(of.getRawType(), next);
      Stream.of(of.getActualTypeArguments()).forEach(each -> refer(each, next));
    }
  }
}

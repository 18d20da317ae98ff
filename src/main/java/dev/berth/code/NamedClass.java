package dev.berth.code;

import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A class of the user's own that a file names, made of a map of arguments or of nothing. */
final class NamedClass {
  private NamedClass() {}

  /** What a file has to name. */
  static String expected(Class<?> type, String arguments) {
    return "a public class that implements "
        + type.getName()
        + ", with a public constructor that takes a Map or, without "
        + arguments
        + ", nothing";
  }

  /**
   * Why a class would not do; null when it would. Runs nothing of it.
   *
   * @param arguments whether there are any
   */
  static @Nullable String wrong(Class<?> type, String name, boolean arguments, ClassLoader loader) {
    try {
      Class<?> found = Class.forName(name, false, loader);
      if (!type.isAssignableFrom(found)) {
        return "no " + type.getSimpleName();
      }
      boolean made =
          Modifier.isPublic(found.getModifiers()) && !Modifier.isAbstract(found.getModifiers());
      List<List<Class<?>>> takes =
          List.of(found.getConstructors()).stream()
              .map(each -> List.of(each.getParameterTypes()))
              .toList();
      return made && (takes.contains(List.of(Map.class)) || !arguments && takes.contains(List.of()))
          ? null
          : "cannot be made";
    } catch (ClassNotFoundException missing) {
      return "no such class";
    } catch (LinkageError broken) {
      return StartFailedException.describe(broken);
    }
  }

  /**
   * Makes one. Runs user code.
   *
   * @throws Exception what its constructor threw, among others
   */
  static <T> T make(
      Class<T> type, String name, Map<String, @Nullable Object> arguments, ClassLoader loader)
      throws Exception {
    Class<?> found = Class.forName(name, true, loader);
    Object made;
    try {
      made = found.getConstructor(Map.class).newInstance(arguments);
    } catch (NoSuchMethodException takesNothing) {
      made = found.getConstructor().newInstance();
    }
    return type.cast(made);
  }
}

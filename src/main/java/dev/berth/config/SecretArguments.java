package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Settings;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Builder arguments that each node reads at run time of the builder: {@code {$file: PATH}} and
 * {@code {$env: NAME}}, also inside mappings and lists. The declared, stored and displayed
 * configuration contains only the reference.
 */
public final class SecretArguments {
  public static final String FILE = "$file";
  public static final String ENV = "$env";

  private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,199}");

  private SecretArguments() {}

  /**
   * Returns the arguments with the references replaced by a reader's values.
   *
   * @param reader receives the key of an argument, {@code args.db.password}, and its reference: a
   *     mapping with {@link #FILE} or {@link #ENV}, and no other key if valid
   */
  @SuppressWarnings("unchecked") // keys of a Map<String, …> stay strings
  public static Map<String, @Nullable Object> read(
      Map<String, @Nullable Object> arguments,
      BiFunction<String, Map<?, ?>, @Nullable Object> reader) {
    return (Map<String, @Nullable Object>) mapping("args", arguments, reader);
  }

  private static Map<?, ?> mapping(
      String key, Map<?, ?> given, BiFunction<String, Map<?, ?>, @Nullable Object> reader) {
    Map<Object, @Nullable Object> read = new LinkedHashMap<>();
    given.forEach((name, each) -> read.put(name, value(key + '.' + name, each, reader)));
    return Collections.unmodifiableMap(read);
  }

  private static @Nullable Object value(
      String key, @Nullable Object given, BiFunction<String, Map<?, ?>, @Nullable Object> reader) {
    if (given instanceof Map<?, ?> map) {
      boolean isReference = map.containsKey(FILE) || map.containsKey(ENV);
      return isReference ? reader.apply(key, map) : mapping(key, map, reader);
    } else if (given instanceof List<?> list) {
      List<@Nullable Object> read = new ArrayList<>();
      list.forEach(each -> read.add(value(key + '[' + read.size() + ']', each, reader)));
      return Collections.unmodifiableList(read);
    }
    return given;
  }

  /** Reports malformed references. */
  static void check(Settings values, ConfigKey<Map<String, @Nullable Object>> of) {
    Map<String, @Nullable Object> arguments = values.find(of);
    if (arguments != null) {
      read(
          arguments,
          (key, reference) -> {
            Object name = reference.values().iterator().next();
            boolean valid = reference.containsKey(FILE) ? isAbsolute(name) : isName(name);
            if (reference.size() != 1 || !valid) {
              values.problem(
                  of,
                  key.substring("args.".length()) + ": a malformed reference",
                  "{$file: an absolute path} or {$env: the name of a variable}, and no other key");
            }
            return null;
          });
    }
  }

  private static boolean isName(@Nullable Object of) {
    return of instanceof String name && NAME.matcher(name).matches();
  }

  private static boolean isAbsolute(@Nullable Object of) {
    try {
      return of instanceof String path && Path.of(path).isAbsolute();
    } catch (InvalidPathException notOne) {
      return false;
    }
  }
}

package dev.berth.config;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One key of the file, declared once.
 *
 * @param name as in the file, with its unit
 * @param type what may stand behind it
 * @param required whether the file must give it
 * @param nullable whether the file may give it as {@code null}, which means unset
 * @param fallback the value when the file is silent; null for a key that then stays unset
 * @param fallbackText the default as the reference shows it
 * @param meaning one or two sentences for the reference
 * @param noEffect why it has no meaning here, for a key that is checked, warned of and dropped;
 *     null for one that does something
 */
record Key<T>(
    String name,
    Type<T> type,
    boolean required,
    boolean nullable,
    @Nullable T fallback,
    String fallbackText,
    String meaning,
    @Nullable String noEffect) {

  /** A key with a default. */
  static <T> Key<T> of(String name, Type<T> type, T fallback, String meaning) {
    return new Key<>(name, type, false, false, fallback, type.write(fallback), meaning, null);
  }

  /** A key the file must give. */
  static <T> Key<T> required(String name, Type<T> type, String meaning) {
    return new Key<>(name, type, true, false, null, "required", meaning, null);
  }

  /** A key that is unset, {@code null}, unless the file gives it. */
  static <T> Key<T> optional(String name, Type<T> type, String meaning) {
    return new Key<>(name, type, false, true, null, "null", meaning, null);
  }

  /**
   * A key that overrides what code says. It stays unset unless the file gives it; {@code fallback}
   * applies when code is silent too, and is only shown here.
   */
  static <T> Key<T> override(String name, Type<T> type, T fallback, String meaning) {
    return new Key<>(name, type, false, false, null, type.write(fallback), meaning, null);
  }

  /**
   * A key of Ray Serve's that changes nothing here and misleads nobody by it: its value is checked,
   * then dropped with a warning.
   *
   * @param why a clause that ends the sentence "has no effect: ..."
   */
  static <T> Key<T> noEffect(String name, Type<T> type, String why) {
    return new Key<>(name, type, false, true, null, "", "No effect: " + why + ".", why);
  }

  /** This key, with {@code null} allowed in the file. */
  Key<T> orNull() {
    return new Key<>(name, type, required, true, fallback, fallbackText, meaning, noEffect);
  }

  /** This key, with its default told in these words. */
  Key<T> fallbackText(String text) {
    return new Key<>(name, type, required, nullable, fallback, text, meaning, noEffect);
  }

  /** As an editor needs it. */
  Map<String, Object> schema() {
    return Schema.ofKey(this);
  }

  /** Throws unless {@code value} is allowed: the check of the record that holds it. */
  void require(T value) {
    if (!type.allows(value)) {
      throw new IllegalArgumentException(
          name + ": " + type.write(value) + " (expected: " + type.expected() + ")");
    }
  }

  /** As {@link #require} for a value that may be unset. */
  void requireIfSet(@Nullable T value) {
    if (value != null) {
      require(value);
    }
  }
}

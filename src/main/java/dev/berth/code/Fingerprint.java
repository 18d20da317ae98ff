package dev.berth.code;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A short digest of named values. Equal values have equal fingerprints, independent of the order of
 * map keys. Consists of the first 12 hex digits of a SHA-256: short enough for users to compare,
 * long enough that two versions of a deployment do not collide by chance.
 */
public final class Fingerprint {
  private static final int DIGITS = 12;

  private final MessageDigest digest = sha256();

  /** Returns a SHA-256 digest, which every JDK has. */
  public static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException absent) {
      throw new IllegalStateException("SHA-256: absent (expected: in every JDK)", absent);
    }
  }

  /**
   * Adds a named value.
   *
   * @param value a JSON value, or an object whose text identifies it
   */
  Fingerprint add(String name, @Nullable Object value) {
    text(name);
    value(value);
    return this;
  }

  private void value(@Nullable Object value) {
    if (value instanceof Map<?, ?> map) {
      TreeMap<String, @Nullable Object> sorted = new TreeMap<>();
      map.forEach((key, each) -> sorted.put(String.valueOf(key), each));
      text("{" + sorted.size());
      sorted.forEach(this::add);
    } else if (value instanceof List<?> list) {
      text("[" + list.size());
      list.forEach(this::value);
    } else if (value == null) {
      text("null");
    } else {
      text(value instanceof String ? "\"" : "=");
      text(value.toString());
    }
  }

  /**
   * Adds a text with its length, so that different sequences of texts never yield the same bytes.
   */
  private void text(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    digest.update(ByteBuffer.allocate(Integer.BYTES).putInt(bytes.length).flip());
    digest.update(bytes);
  }

  /** Returns the fingerprint. Nothing may be added afterwards. */
  @Override
  public String toString() {
    return HexFormat.of().formatHex(digest.digest()).substring(0, DIGITS);
  }
}

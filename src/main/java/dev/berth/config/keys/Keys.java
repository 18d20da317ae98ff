package dev.berth.config.keys;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A builder of a section. The order of declaration is the order of the reference. A new key needs
 * only its declaration, and the code that uses its value:
 *
 * <pre>
 *   private static final Keys KEYS = new Keys();
 *
 *   public static final Key&lt;Duration> LINGER_S =
 *       KEYS.key("linger_s", Types.SECONDS, Duration.ofSeconds(3))
 *           .reaches(Reach.REPLICA_LIVE)
 *           .means("How long to linger.");
 *
 *   static final Section SECTION = KEYS.section();
 * </pre>
 */
public final class Keys {

  private final List<Key<?>> declared;
  private final Reach reach;

  public Keys() {
    this(Reach.INSTANCE);
  }

  /**
   * Creates a builder.
   *
   * @param reach default reach of the keys
   */
  public Keys(Reach reach) {
    this(new ArrayList<>(), reach);
  }

  private Keys(List<Key<?>> declared, Reach reach) {
    this.declared = declared;
    this.reach = reach;
  }

  /** Returns a builder that adds keys with another reach to the same section. */
  public Keys reaching(Reach what) {
    return new Keys(declared, what);
  }

  /** Adds a key that is declared elsewhere. */
  public <T> Key<T> add(Key<T> key) {
    declared.add(key);
    return key.reaches(reach);
  }

  /** Adds a key with a default; see {@link Key#of}. */
  public <T> Key<T> key(String name, Type<T> type, @Nullable T fallback) {
    return add(Key.of(name, type, fallback));
  }

  /** Adds a key whose default {@link Key#fallback} sets. */
  public <T> Key<T> key(String name, Type<T> type) {
    return key(name, type, null);
  }

  /** Adds a required key; see {@link Key#required}. */
  public <T> Key<T> required(String name, Type<T> type) {
    return add(Key.required(name, type));
  }

  /** Adds an optional key; see {@link Key#optional}. */
  public <T> Key<T> optional(String name, Type<T> type) {
    return add(Key.optional(name, type));
  }

  /** Adds a nested mapping; see {@link Key#mapping}. Its keys have their own reach. */
  public Key<Settings> mapping(String name, Section section) {
    return add(Key.mapping(name, section)).reaches(Reach.INSTANCE);
  }

  /** Returns a section of the keys declared so far. */
  public Section section() {
    return Section.of(declared.toArray(new Key<?>[0]));
  }
}

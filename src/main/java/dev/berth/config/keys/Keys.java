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

  private final List<ConfigKey<?>> declared;
  private final ChangeReach reach;

  public Keys() {
    this(ChangeReach.INSTANCE);
  }

  /**
   * Creates a builder.
   *
   * @param reach default reach of the keys
   */
  public Keys(ChangeReach reach) {
    this(new ArrayList<>(), reach);
  }

  private Keys(List<ConfigKey<?>> declared, ChangeReach reach) {
    this.declared = declared;
    this.reach = reach;
  }

  /** Returns a builder that adds keys with another reach to the same section. */
  public Keys reaching(ChangeReach what) {
    return new Keys(declared, what);
  }

  /** Adds a key that is declared elsewhere. */
  public <T> ConfigKey<T> add(ConfigKey<T> key) {
    declared.add(key);
    return key.reaches(reach);
  }

  /** Adds a key with a default; see {@link ConfigKey#of}. */
  public <T> ConfigKey<T> key(String name, Type<T> type, @Nullable T fallback) {
    return add(ConfigKey.of(name, type, fallback));
  }

  /** Adds a key whose default {@link ConfigKey#fallback} sets. */
  public <T> ConfigKey<T> key(String name, Type<T> type) {
    return key(name, type, null);
  }

  /** Adds a required key; see {@link ConfigKey#required}. */
  public <T> ConfigKey<T> required(String name, Type<T> type) {
    return add(ConfigKey.required(name, type));
  }

  /** Adds an optional key; see {@link ConfigKey#optional}. */
  public <T> ConfigKey<T> optional(String name, Type<T> type) {
    return add(ConfigKey.optional(name, type));
  }

  /** Adds a nested mapping; see {@link ConfigKey#mapping}. Its keys have their own reach. */
  public ConfigKey<Settings> mapping(String name, Section section) {
    return add(ConfigKey.mapping(name, section)).reaches(ChangeReach.INSTANCE);
  }

  /** Returns a section of the keys declared so far. */
  public Section section() {
    return Section.of(declared.toArray(new ConfigKey<?>[0]));
  }
}

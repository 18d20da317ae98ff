package dev.berth.config.keys;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The keys of a section in the order of their declaration, which is that of the reference. All that
 * is to be written for one more key is its declaration, and where its value is taken:
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
   * @param reach of those that do not say another
   */
  public Keys(Reach reach) {
    this(new ArrayList<>(), reach);
  }

  private Keys(List<Key<?>> declared, Reach reach) {
    this.declared = declared;
    this.reach = reach;
  }

  /** These, to declare more among them that reach something else. */
  public Keys reaching(Reach what) {
    return new Keys(declared, what);
  }

  /** One that is declared elsewhere. */
  public <T> Key<T> add(Key<T> key) {
    declared.add(key);
    return key.reaches(reach);
  }

  /** See {@link Key#of}. */
  public <T> Key<T> key(String name, Type<T> type, @Nullable T fallback) {
    return add(Key.of(name, type, fallback));
  }

  /** One whose default is told by {@link Key#fallback}. */
  public <T> Key<T> key(String name, Type<T> type) {
    return key(name, type, null);
  }

  /** See {@link Key#required}. */
  public <T> Key<T> required(String name, Type<T> type) {
    return add(Key.required(name, type));
  }

  /** See {@link Key#optional}. */
  public <T> Key<T> optional(String name, Type<T> type) {
    return add(Key.optional(name, type));
  }

  /** See {@link Key#mapping}. Its keys say what they reach. */
  public Key<Settings> mapping(String name, Section section) {
    return add(Key.mapping(name, section)).reaches(Reach.INSTANCE);
  }

  /** All that were declared so far. */
  public Section section() {
    return Section.of(declared.toArray(new Key<?>[0]));
  }
}

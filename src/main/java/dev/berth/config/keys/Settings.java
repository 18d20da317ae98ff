package dev.berth.config.keys;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What is said of the keys of one {@link Section}, and of those of the mappings in it; where
 * nothing is, a key has its default. Immutable, may be read from any thread. A look-up goes over
 * the keys of the section: what runs hot takes a value into a field once.
 *
 * <pre>
 *   file.over(code)          // what is said: the file's, else code's
 *       .within(instance)    // beside what is said around it
 *       .get(LINGER_S)       // what holds: that, or the default, and never above its cap
 * </pre>
 */
public final class Settings {

  /** What is said of a key that has no value. */
  private enum Without {
    /** {@code null}, where that says something. */
    NONE,
    /** Something wrong, which is reported; no rule is held to it. */
    WRONG
  }

  private final Section section;
  private final @Nullable Object[] said; // by the index of the key
  private final @Nullable Settings outer;
  private final @Nullable Marks marks;

  private Settings(
      Section section, @Nullable Object[] said, @Nullable Settings outer, @Nullable Marks marks) {
    this.section = section;
    this.said = said;
    this.outer = outer;
    this.marks = marks;
  }

  /** Of which nothing is said. */
  static Settings empty(Section section) {
    return new Settings(section, new @Nullable Object[section.keys().size()], null, null);
  }

  // --- values ---

  /**
   * The value of a key that is never unset.
   *
   * @throws IllegalStateException when it is
   * @throws IllegalArgumentException when it is a key of something else
   */
  public <T> T get(Key<T> key) {
    T value = find(key);
    if (value == null) {
      throw new IllegalStateException(key.name() + ": unset (expected: a value)");
    }
    return value;
  }

  /** The value, the default when nothing is said; null when unset. */
  public <T> @Nullable T find(Key<T> key) {
    return find(key, this);
  }

  /**
   * @param asked where the asking began, which a default may depend on
   */
  private <T> @Nullable T find(Key<T> key, Settings asked) {
    int index = section.indexOf(key);
    if (index >= 0) {
      return own(index, key, asked);
    }
    for (Key<Settings> inner : section.mappings()) {
      if (inner.type() instanceof Section below && below.knows(key)) {
        Settings values = own(section.indexOf(inner), inner, asked);
        return values == null ? null : values.find(key, asked);
      }
    }
    if (outer == null) {
      throw new IllegalArgumentException(key.name() + ": foreign key (expected: one of its own)");
    }
    return outer.find(key);
  }

  @SuppressWarnings("unchecked") // what is said was read, or checked, with this key's own type
  private <T> @Nullable T own(int index, Key<T> key, Settings asked) {
    Object value = said[index];
    if (value instanceof Without) {
      return null;
    }
    T found = value == null ? key.fallback(asked) : key.capped((T) value, asked);
    return found instanceof Settings inner ? (T) inner.within(asked) : found;
  }

  /** The mappings of a list; none where it is wrong. */
  public List<Settings> all(Key<List<Settings>> key) {
    return Objects.requireNonNullElse(find(key), List.of());
  }

  /** Whether it is a key of these, or of a mapping around them. */
  boolean knows(Key<?> key) {
    return section.knows(key) || (outer != null && outer.knows(key));
  }

  /** The value of a key of a mapping around this one; its default where there is none. */
  public <T> @Nullable T around(Key<T> key) {
    return knows(key) ? find(key) : key.fallback(this);
  }

  // --- others made from them ---

  /**
   * These with another value, also of a key of a mapping in them; null is as if nothing was said. A
   * list or a map is kept as it is: pass one that nobody changes.
   *
   * @throws IllegalArgumentException when the file could not say it
   */
  public <T> Settings with(Key<T> key, @Nullable T value) {
    if (value != null) {
      key.require(value);
    }
    Settings changed = put(key, value == null && key.noneIsAValue() ? Without.NONE : value);
    changed.checkBounds();
    return changed;
  }

  /** As {@link #with}, unchecked. */
  public Settings put(Key<?> key, @Nullable Object value) {
    int index = section.indexOf(key);
    if (index >= 0) {
      @Nullable Object[] changed = said.clone();
      changed[index] = value;
      return new Settings(section, changed, outer, null);
    }
    for (Key<Settings> inner : section.mappings()) {
      if (inner.type() instanceof Section below && below.knows(key)) {
        return put(inner, get(inner).put(key, value).within(null));
      }
    }
    throw new IllegalArgumentException(key.name() + ": foreign key (expected: one of its own)");
  }

  /** These, and {@code lower}'s where nothing is said here. */
  public Settings over(Settings lower) {
    @Nullable Object[] both = said.clone();
    List<Key<?>> keys = section.keys();
    for (int i = 0; i < both.length; i++) {
      if (both[i] == null) {
        both[i] = lower.said[i];
      } else if (keys.get(i).merged()
          && both[i] instanceof Settings upper
          && lower.said[i] instanceof Settings below) {
        both[i] = upper.over(below);
      }
    }
    return new Settings(section, both, outer, null);
  }

  /**
   * These as a part of others: keys of those are found here too, and defaults that depend on them
   * are made from them.
   */
  public Settings within(@Nullable Settings around) {
    return new Settings(section, said, around, marks);
  }

  /** These without what only their reading needs. */
  public Settings read() {
    @Nullable Object[] values = new @Nullable Object[said.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = said[i] instanceof Settings inner ? inner.read() : said[i];
      if (said[i] instanceof List<?> list) {
        List<Object> items = new ArrayList<>();
        list.forEach(item -> items.add(item instanceof Settings inner ? inner.read() : item));
        values[i] = Collections.unmodifiableList(items);
      }
    }
    return new Settings(section, values, outer, null);
  }

  // --- as the file would say them ---

  /** What holds and does something, defaults too, as JSON values in the order of the keys. */
  public Map<String, @Nullable Object> json() {
    return json(false);
  }

  /**
   * As {@link #json}, and what a file could not say, such as no replicas: for an instance that
   * reads it by {@link Section#told}, and then has what is equal to these by themselves.
   */
  public Map<String, @Nullable Object> told() {
    return json(true);
  }

  private Map<String, @Nullable Object> json(boolean unchecked) {
    Map<String, @Nullable Object> all = new LinkedHashMap<>();
    section.keys().forEach(key -> putJson(key, unchecked, all));
    return Collections.unmodifiableMap(all);
  }

  /** Of {@link #json} what reaches something, without the mappings that it stands in. */
  public Map<String, @Nullable Object> reaching(Reach reach) {
    Map<String, @Nullable Object> all = new LinkedHashMap<>();
    for (Key<?> key : section.keys()) {
      if (key.reach() == reach) {
        putJson(key, false, all);
      } else if (find(key) instanceof Settings inner) {
        all.putAll(inner.reaching(reach));
      }
    }
    return Collections.unmodifiableMap(all);
  }

  private <T> void putJson(Key<T> key, boolean unchecked, Map<String, @Nullable Object> into) {
    T value = find(key);
    if (value != null && key.reach() != Reach.NOTHING && (unchecked || key.type().allows(value))) {
      into.put(key.name(), json(key.type(), value, unchecked));
    }
  }

  private static <T> Object json(Type<T> type, T value, boolean unchecked) {
    if (value instanceof Settings inner) {
      return inner.json(unchecked);
    }
    if (value instanceof Duration || value instanceof Double) {
      return new BigDecimal(type.write(value)); // as people write it: 20 and not 20.0
    }
    if (type instanceof ListOf<?> list) {
      return jsonItems(list, (List<?>) value, unchecked);
    }
    if (value instanceof Integer && !type.write(value).equals(value.toString())) {
      return type.write(value); // a word that stands for it
    }
    boolean plain = value instanceof Number || value instanceof Boolean || value instanceof Map;
    return plain ? value : type.write(value);
  }

  @SuppressWarnings("unchecked") // the items of a list are of its type
  private static <T> List<Object> jsonItems(ListOf<T> type, List<?> items, boolean unchecked) {
    return items.stream().map(item -> json(type.item(), (T) item, unchecked)).toList();
  }

  // --- while a file is read ---

  /** Of which nothing is said yet; their section says it before anybody else sees them. */
  static Settings reading(Section section, Marks marks) {
    return new Settings(section, empty(section).said, null, marks);
  }

  /** See {@link #reading}; the value is null where the file says null. */
  <T> void say(Key<T> key, @Nullable T value) {
    boolean none = value == null && key.noneIsAValue();
    said[section.indexOf(key)] = none ? Without.NONE : value;
  }

  /** See {@link #reading}. */
  void sayWrong(Key<?> key) {
    said[section.indexOf(key)] = Without.WRONG;
  }

  /** Where they stand in a file that is being read. */
  public Marks marks() {
    return Objects.requireNonNull(marks, "marks");
  }

  /** Whether the file gives {@code key} something, right or wrong; {@code null} is nothing. */
  public boolean gives(Key<?> key) {
    Object value = said[section.indexOf(key)];
    return value != null && value != Without.NONE;
  }

  /**
   * Reports a problem with the value of {@code key}, at it or else at the mapping.
   *
   * @throws IllegalArgumentException with it when the value comes from code
   */
  public void problem(Key<?> key, String value, String expected) {
    if (marks == null) {
      throw key.refusal(value, expected);
    }
    marks.problem(key, value, expected);
  }

  /** Reports each value that is past the one of a key that bounds it, in mappings and lists too. */
  public void checkBounds() {
    for (int i = 0; i < said.length; i++) {
      if (said[i] instanceof Settings inner) {
        inner.within(this).checkBounds();
      } else if (said[i] instanceof List<?> list) { // of a file that is huge there are many
        list.stream()
            .filter(Settings.class::isInstance)
            .forEach(item -> ((Settings) item).within(this).checkBounds());
      } else {
        section.keys().get(i).checkBounds(this);
      }
    }
  }

  /** The name of a key for one who reads about these: with its path when it stands elsewhere. */
  String pathOf(Key<?> key) {
    Settings whole = this;
    while (whole.outer != null) {
      whole = whole.outer;
    }
    String path = section.indexOf(key) >= 0 ? null : whole.section.pathOf(key);
    return path == null ? key.name() : path;
  }

  /** Reports every value of {@code key} that an earlier mapping of the list has too. */
  public <T> void requireUnique(Key<List<Settings>> list, Key<T> key) {
    Map<T, Settings> seen = new HashMap<>();
    for (Settings mapping : all(list)) {
      T value = mapping.find(key);
      Settings first = value == null ? null : seen.putIfAbsent(value, mapping);
      if (value != null && first != null) {
        String given = mapping.gives(key) ? "" : ", the default,";
        mapping.problem(
            key,
            '"' + Scalars.shorten(key.type().write(value)) + '"' + given + " twice",
            "unique; " + first.marks().where(key) + " has it already");
      }
    }
  }

  /** By what holds, be it said or a default; what does nothing is not looked at. */
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Settings settings
        && settings.section == section
        && settings.effects().equals(effects());
  }

  @Override
  public int hashCode() {
    return effects().hashCode();
  }

  private List<@Nullable Object> effects() {
    List<@Nullable Object> effects = new ArrayList<>();
    for (Key<?> key : section.keys()) {
      effects.add(key.reach() == Reach.NOTHING ? null : find(key));
    }
    return effects;
  }

  /** Secrets are not shown. */
  @Override
  public String toString() {
    return json().toString();
  }
}

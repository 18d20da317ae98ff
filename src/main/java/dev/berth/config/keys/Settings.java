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
 * The values of the keys of one {@link Section} and of its nested mappings. A key without a value
 * has its default. Immutable and thread-safe. A look-up scans the keys of the section, so hot code
 * reads a value once into a field.
 *
 * <pre>
 *   file.over(code)          // values of the file, else of the code
 *       .within(instance)    // inside the settings of an enclosing mapping
 *       .get(LINGER_S)       // the value, or the default, never above its cap
 * </pre>
 */
public final class Settings {

  /** Marker of a key without a value. */
  private enum AbsentValue {
    /** Explicit {@code null}, where it is a value of its own. */
    NONE,
    /** Invalid value, already reported; rules ignore the key. */
    WRONG
  }

  private final Section section;
  private final @Nullable Object[] said; // by the index of the key
  private final @Nullable Settings outer;
  private final @Nullable NodePositions marks;

  private Settings(
      Section section,
      @Nullable Object[] said,
      @Nullable Settings outer,
      @Nullable NodePositions marks) {
    this.section = section;
    this.said = said;
    this.outer = outer;
    this.marks = marks;
  }

  /** Returns settings without values. */
  static Settings empty(Section section) {
    return new Settings(section, new @Nullable Object[section.keys().size()], null, null);
  }

  // --- values ---

  /**
   * Returns the value of a key that is never unset.
   *
   * @throws IllegalStateException when the key is unset
   * @throws IllegalArgumentException when the key belongs to another section
   */
  public <T> T get(ConfigKey<T> key) {
    T value = find(key);
    if (value == null) {
      throw new IllegalStateException(key.name() + ": unset (expected: a value)");
    }
    return value;
  }

  /** Returns the value, or else the default; null when unset. */
  public <T> @Nullable T find(ConfigKey<T> key) {
    return find(key, this);
  }

  /**
   * Returns the value of a key.
   *
   * @param asked the settings at the start of the look-up, which a default may depend on
   */
  private <T> @Nullable T find(ConfigKey<T> key, Settings asked) {
    int index = section.indexOf(key);
    if (index >= 0) {
      return own(index, key, asked);
    }
    for (ConfigKey<Settings> inner : section.mappings) {
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

  @SuppressWarnings("unchecked") // values were read or checked with this key's type
  private <T> @Nullable T own(int index, ConfigKey<T> key, Settings asked) {
    Object value = said[index];
    if (value instanceof AbsentValue) {
      return null;
    }
    T found = value == null ? key.fallback(asked) : key.capped((T) value, asked);
    return found instanceof Settings inner ? (T) inner.within(asked) : found;
  }

  /** Returns the mappings of a list; empty when the list is invalid. */
  public List<Settings> all(ConfigKey<List<Settings>> key) {
    return Objects.requireNonNullElse(find(key), List.of());
  }

  /** Returns whether a key belongs to these settings, or to an enclosing mapping. */
  boolean knows(ConfigKey<?> key) {
    return section.knows(key) || (outer != null && outer.knows(key));
  }

  /**
   * Returns the value of a key of an enclosing mapping; its default when there is no such mapping.
   */
  public <T> @Nullable T around(ConfigKey<T> key) {
    return knows(key) ? find(key) : key.fallback(this);
  }

  // --- derived settings ---

  /**
   * Returns a copy with another value, also for a key of a nested mapping; null removes the value.
   * Does not copy lists and maps: pass ones that never change.
   *
   * @throws IllegalArgumentException when a file could not contain the value
   */
  public <T> Settings with(ConfigKey<T> key, @Nullable T value) {
    if (value != null) {
      key.require(value);
    }
    Settings changed = put(key, value == null && key.noneIsAValue() ? AbsentValue.NONE : value);
    changed.checkBounds();
    return changed;
  }

  /** Returns a copy as {@link #with} does, without checks. */
  public Settings put(ConfigKey<?> key, @Nullable Object value) {
    int index = section.indexOf(key);
    if (index >= 0) {
      @Nullable Object[] changed = said.clone();
      changed[index] = value;
      return new Settings(section, changed, outer, null);
    }
    for (ConfigKey<Settings> inner : section.mappings) {
      if (inner.type() instanceof Section below && below.knows(key)) {
        return put(inner, get(inner).put(key, value).within(null));
      }
    }
    throw new IllegalArgumentException(key.name() + ": foreign key (expected: one of its own)");
  }

  /** Returns these settings, with {@code lower}'s values for keys without a value. */
  public Settings over(Settings lower) {
    @Nullable Object[] both = said.clone();
    List<ConfigKey<?>> keys = section.keys();
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
   * Returns these settings nested in others. Keys of the others are then found here too, and
   * defaults may depend on them.
   */
  public Settings within(@Nullable Settings around) {
    return new Settings(section, said, around, marks);
  }

  /** Returns a copy without the data that only reading needs. */
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

  // --- as JSON ---

  /**
   * Returns the effective values as JSON values in the order of the keys, including defaults. Omits
   * keys without effect.
   */
  public Map<String, @Nullable Object> json() {
    return json(false);
  }

  /**
   * Returns the form that instances exchange: the values of {@link #json}, plus values that a file
   * could not contain, such as zero replicas. The receiving instance then has settings equal to
   * these.
   */
  public Map<String, @Nullable Object> toMap() {
    return json(true);
  }

  private Map<String, @Nullable Object> json(boolean unchecked) {
    Map<String, @Nullable Object> all = new LinkedHashMap<>();
    section.keys().forEach(key -> putJson(key, unchecked, all));
    return Collections.unmodifiableMap(all);
  }

  /** Returns the values of {@link #json} with a given reach, without their nesting. */
  public Map<String, @Nullable Object> reaching(ChangeReach reach) {
    Map<String, @Nullable Object> all = new LinkedHashMap<>();
    for (ConfigKey<?> key : section.keys()) {
      if (key.reach() == reach) {
        putJson(key, false, all);
      } else if (find(key) instanceof Settings inner) {
        all.putAll(inner.reaching(reach));
      }
    }
    return Collections.unmodifiableMap(all);
  }

  private <T> void putJson(
      ConfigKey<T> key, boolean unchecked, Map<String, @Nullable Object> into) {
    T value = find(key);
    if (value != null
        && key.reach() != ChangeReach.NOTHING
        && (unchecked || key.type().allows(value))) {
      into.put(key.name(), json(key.type(), value, unchecked));
    }
  }

  private static <T> Object json(Type<T> type, T value, boolean unchecked) {
    if (value instanceof Settings inner) {
      return inner.json(unchecked);
    }
    if (value instanceof Duration || value instanceof Double) {
      String written = type.write(value); // as users write: 20 instead of 20.0, or a word
      return Character.isLetter(written.charAt(0)) ? written : new BigDecimal(written);
    }
    if (type instanceof ListType<?> list) {
      return jsonItems(list, (List<?>) value, unchecked);
    }
    if (value instanceof Integer && !type.write(value).equals(value.toString())) {
      return type.write(value); // a word that represents the number
    }
    boolean plain = value instanceof Number || value instanceof Boolean || value instanceof Map;
    return plain ? value : type.write(value);
  }

  @SuppressWarnings("unchecked") // the items of a list are of its type
  private static <T> List<Object> jsonItems(ListType<T> type, List<?> items, boolean unchecked) {
    return items.stream().map(item -> json(type.item(), (T) item, unchecked)).toList();
  }

  // --- reading ---

  /** Returns settings without values, which their section fills before it publishes them. */
  static Settings reading(Section section, NodePositions marks) {
    return new Settings(section, empty(section).said, null, marks);
  }

  /** Sets a value while reading, see {@link #reading}; null for a null in the file. */
  <T> void set(ConfigKey<T> key, @Nullable T value) {
    boolean none = value == null && key.noneIsAValue();
    said[section.indexOf(key)] = none ? AbsentValue.NONE : value;
  }

  /** Marks a value as invalid while reading, see {@link #reading}. */
  void markInvalid(ConfigKey<?> key) {
    said[section.indexOf(key)] = AbsentValue.WRONG;
  }

  /** Returns the positions in the file; available only while reading. */
  public NodePositions marks() {
    return Objects.requireNonNull(marks, "marks");
  }

  /**
   * Returns whether the file contains a value of {@code key}, valid or invalid; {@code null} does
   * not count.
   */
  public boolean gives(ConfigKey<?> key) {
    Object value = said[section.indexOf(key)];
    return value != null && value != AbsentValue.NONE;
  }

  /**
   * Reports a problem with the value of {@code key}, at its position or else at that of the
   * mapping.
   *
   * @throws IllegalArgumentException with the problem, when the value comes from code
   */
  public void problem(ConfigKey<?> key, String value, String expected) {
    if (marks == null) {
      throw key.refusal(value, expected);
    }
    marks.problem(key, value, expected);
  }

  /**
   * Reports each value that violates a bound set by another key, including nested mappings and
   * lists.
   */
  public void checkBounds() {
    for (int i = 0; i < said.length; i++) {
      if (said[i] instanceof Settings inner) {
        inner.within(this).checkBounds();
      } else if (said[i] instanceof List<?> list) { // may have very many items
        list.stream()
            .filter(Settings.class::isInstance)
            .forEach(item -> ((Settings) item).within(this).checkBounds());
      } else {
        section.keys().get(i).checkBounds(this);
      }
    }
  }

  /**
   * Returns the name of a key for readers of these settings; with its path when it belongs to
   * another mapping.
   */
  String pathOf(ConfigKey<?> key) {
    Settings whole = this;
    while (whole.outer != null) {
      whole = whole.outer;
    }
    String path = section.indexOf(key) >= 0 ? null : whole.section.pathOf(key);
    return path == null ? key.name() : path;
  }

  /** Reports every value of {@code key} that an earlier mapping of the list has too. */
  public <T> void requireUnique(ConfigKey<List<Settings>> list, ConfigKey<T> key) {
    Map<T, Settings> seen = new HashMap<>();
    for (Settings mapping : all(list)) {
      T value = mapping.find(key);
      Settings first = value == null ? null : seen.putIfAbsent(value, mapping);
      if (value != null && first != null) {
        String given = mapping.gives(key) ? "" : ", the default,";
        mapping.problem(
            key,
            '"' + YamlScalars.shorten(key.type().write(value)) + '"' + given + " twice",
            "unique; " + first.marks().where(key) + " has it already");
      }
    }
  }

  /** Compares effective values, including defaults; ignores keys without effect. */
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
    return section.keys().stream()
        .<@Nullable Object>map(key -> key.reach() == ChangeReach.NOTHING ? null : find(key))
        .toList();
  }

  /** Returns the effective values; secrets are not shown. */
  @Override
  public String toString() {
    return json().toString();
  }
}

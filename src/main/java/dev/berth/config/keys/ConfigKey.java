package dev.berth.config.keys;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * A key of the file, declared once: its name with its unit, its type, its default, its reach and
 * its meaning. Reading, checking, merging, the schema, the reference, the effective configuration
 * and the effect of a change derive from this declaration. A key is declared while its class is
 * loaded, and is immutable afterwards.
 *
 * @param <T> the type of its values
 */
public final class ConfigKey<T> {

  /**
   * A bound set by another key.
   *
   * @param by the other key, which may be declared after this one
   * @param above whether the bound is a minimum instead of a maximum
   */
  private record KeyBound(Supplier<ConfigKey<?>> by, boolean above) {}

  private final String name;
  private final Type<T> type;
  private String meaning = "";

  /** Flag: a mapping without this key is invalid. */
  private boolean required;

  /** Flag: the file may contain {@code null}. */
  private boolean nullable;

  /** Flag: {@code null} is stored as a value, instead of selecting the default. */
  private boolean noneIsAValue;

  /** Flag: file and code are merged key by key. */
  private boolean merged;

  /** Default, computed on each use, because other layers may change the values it depends on. */
  private Function<Settings, @Nullable T> fallback = settings -> null;

  private String fallbackText = "";
  private ChangeReach reach = ChangeReach.INSTANCE;
  private final List<KeyBound> bounds = new ArrayList<>();

  /** Key whose value silently caps this one. */
  private @Nullable ConfigKey<T> cap;

  /** Reason shown to users that set this key. */
  private @Nullable String noEffect;

  /** Replacement of a deprecated key. */
  private @Nullable String instead;

  private Map<String, String> refusedWords = Map.of();
  private final List<String> variables = new ArrayList<>();

  private ConfigKey(String name, Type<T> type) {
    this.name = name;
    this.type = type;
  }

  // --- declaration ---

  /** Creates a key with a default; pass null for a default set by {@link #fallback}. */
  public static <T> ConfigKey<T> of(String name, Type<T> type, @Nullable T fallback) {
    return new ConfigKey<>(name, type)
        .fallback(none -> fallback, fallback == null ? "null" : type.write(fallback));
  }

  /** Creates a key that the file must contain. */
  public static <T> ConfigKey<T> required(String name, Type<T> type) {
    ConfigKey<T> key = new ConfigKey<>(name, type);
    key.required = true;
    return key.fallback(none -> null, "required");
  }

  /** Creates a key that is unset ({@code null}) unless the file contains it. */
  public static <T> ConfigKey<T> optional(String name, Type<T> type) {
    return of(name, type, null).orNull();
  }

  /** Creates a key for a nested mapping, which exists even if the file omits it. */
  public static ConfigKey<Settings> mapping(String name, Section section) {
    ConfigKey<Settings> key = of(name, section, section.empty());
    key.merged = true;
    return key;
  }

  /**
   * Creates a key of Ray Serve's that has no effect here, and whose absence misleads no user. Its
   * value is checked, then ignored with a warning.
   *
   * @param why a clause that completes the sentence "has no effect: ..."
   */
  public static <T> ConfigKey<T> noEffect(String name, Type<T> type, String why) {
    ConfigKey<T> key = new ConfigKey<>(name, type);
    key.noEffect = why;
    return key.orNull().reaches(ChangeReach.NOTHING).means("No effect: " + why + ".");
  }

  /** Sets the meaning for the reference, one or two sentences. */
  public ConfigKey<T> means(String text) {
    meaning = text;
    return this;
  }

  /** Permits {@code null} in the file, which means unset. */
  public ConfigKey<T> orNull() {
    nullable = true;
    return this;
  }

  /** Permits {@code null} in the file as a value of its own: none, instead of the default. */
  public ConfigKey<T> orNone() {
    noneIsAValue = true;
    return orNull();
  }

  /**
   * Sets a default that depends on other settings.
   *
   * @param value computes the default from the other settings, on each use
   * @param text the default as the reference shows it
   */
  public ConfigKey<T> fallback(Function<Settings, @Nullable T> value, String text) {
    fallback = value;
    fallbackText = text;
    return this;
  }

  /**
   * Sets the reach, and thereby the effect of a change; by default {@link ChangeReach#INSTANCE}.
   */
  public ConfigKey<T> reaches(ChangeReach what) {
    reach = what;
    return this;
  }

  /**
   * Requires a value of at most the value of {@code other}, a key of the same or an enclosing
   * mapping.
   */
  public ConfigKey<T> atMost(Supplier<ConfigKey<?>> other) {
    bounds.add(new KeyBound(other, false));
    return this;
  }

  /** Requires a value of at least the value of {@code other}. */
  public ConfigKey<T> atLeast(Supplier<ConfigKey<?>> other) {
    bounds.add(new KeyBound(other, true));
    return this;
  }

  /** Caps the value at the value of {@code other}. */
  public ConfigKey<T> cappedBy(ConfigKey<T> other) {
    cap = other;
    return this;
  }

  /**
   * Marks the key as deprecated: still read, with a warning.
   *
   * @param other the replacement
   */
  public ConfigKey<T> deprecated(String other) {
    instead = other;
    return this;
  }

  /**
   * Refuses a word that Ray Serve accepts for this key.
   *
   * @param why a clause that follows "not supported by this version: "
   */
  public ConfigKey<T> without(String word, String why) {
    refusedWords = Map.of(word, why);
    return this;
  }

  /** Adds an environment variable that sets the key, in seconds for a duration. */
  public ConfigKey<T> variable(String environment) {
    variables.add(environment);
    return this;
  }

  // --- properties ---

  /** Returns the name, as the file contains it. */
  public String name() {
    return name;
  }

  /** Returns the type of the values. */
  public Type<T> type() {
    return type;
  }

  /** Returns the meaning for the reference, one or two sentences. */
  public String meaning() {
    return meaning;
  }

  /** Returns the environment variables that set the key, by descending precedence. */
  public List<String> variables() {
    return List.copyOf(variables);
  }

  /** Returns whether the file must contain the key. */
  public boolean required() {
    return required;
  }

  /** Returns whether the file may contain {@code null} for the key. */
  public boolean nullable() {
    return nullable;
  }

  /** Returns whether {@code null} is a value of its own, instead of selecting the default. */
  public boolean noneIsAValue() {
    return noneIsAValue;
  }

  /**
   * Returns whether the key is a mapping that is merged key by key; any other value is replaced as
   * a whole.
   */
  public boolean merged() {
    return merged;
  }

  /** Returns the default as the reference shows it. */
  public String fallbackText() {
    return fallbackText;
  }

  /** Returns the reach of the value. */
  public ChangeReach reach() {
    return reach;
  }

  /** Returns the reason for having no effect; null for a key with an effect. */
  @Nullable String noEffect() {
    return noEffect;
  }

  /** Returns the replacement of a deprecated key; null for any other key. */
  @Nullable String instead() {
    return instead;
  }

  /** Reads the value at {@code node}; null after reporting problems at {@code place}. */
  @Nullable T read(Node node, ParseContext place) {
    String word = YamlScalars.string(node);
    String why = word == null ? null : refusedWords.get(word);
    if (why == null) {
      return type.read(node, place);
    }
    place.problem(
        node, YamlScalars.show(node) + ", " + Section.NOT_SUPPORTED + why, type.expected());
    return null;
  }

  /** Returns the default; null for a key that stays unset. */
  public @Nullable T fallback(Settings settings) {
    return fallback.apply(settings);
  }

  /** Returns {@code value}, or the value of the capping key if lower. */
  public T capped(T value, Settings settings) {
    T most = cap == null ? null : settings.find(cap);
    return most != null && compare(value, most) > 0 ? most : value;
  }

  /** Reports a value that violates the bound of another key. */
  public void checkBounds(Settings settings) {
    bounds.forEach(bound -> checkBound(bound.by.get(), bound.above, settings));
  }

  private <U> void checkBound(ConfigKey<U> other, boolean above, Settings settings) {
    T value = settings.find(this);
    U limit = settings.knows(other) ? settings.find(other) : null;
    int order = value == null || limit == null ? 0 : compare(value, limit);
    if (value != null && limit != null && (above ? order < 0 : order > 0)) {
      String bound = (above ? "at least " : "at most ") + settings.pathOf(other);
      settings.problem(this, type.write(value), bound + ", " + other.type.write(limit));
    }
  }

  /** Compares two integers of any size, or two durations. */
  private static int compare(Object one, Object other) {
    return one instanceof Duration time
        ? time.compareTo((Duration) other)
        : Long.compare(((Number) one).longValue(), ((Number) other).longValue());
  }

  /** Checks a value that comes from code; throws unless the type permits it. */
  public void require(T value) {
    if (!type.allows(value)) {
      throw refusal(type.write(value), type.expected());
    }
  }

  /** Returns an exception in the format of a file's problems, without a position. */
  public IllegalArgumentException refusal(String value, String expected) {
    return new IllegalArgumentException(name + ": " + value + " (expected: " + expected + ")");
  }

  @Override
  public String toString() {
    return name;
  }
}

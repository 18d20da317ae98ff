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
 * One key of the file, declared once: its name, with its unit, what may stand behind it, its
 * default, what it reaches, and what it means. Reading, checking, merging, the schema, the
 * reference, the effective configuration and what a change of it needs follow from it. It is
 * declared while its class is loaded, and is not changed any more after that.
 *
 * @param <T> of its values
 */
public final class Key<T> {

  /**
   * A value that another key bounds.
   *
   * @param by that key, which may be declared after this one
   * @param above whether that is the least it may be, and not the most
   */
  private record Bound(Supplier<Key<?>> by, boolean above) {}

  private final String name;
  private final Type<T> type;
  private String meaning = "";

  /** Whether a mapping without it is wrong. */
  private boolean required;

  /** Whether {@code null} may stand behind it. */
  private boolean nullable;

  /** Whether {@code null} is then kept, in place of the default. */
  private boolean noneIsAValue;

  /** Whether file and code give it key by key. */
  private boolean merged;

  /** Asked anew each time, since what it depends on may be said by another side. */
  private Function<Settings, @Nullable T> fallback = settings -> null;

  private String fallbackText = "";
  private Reach reach = Reach.INSTANCE;
  private final List<Bound> bounds = new ArrayList<>();

  /** Which this one is never above, without a word. */
  private @Nullable Key<T> cap;

  /** Told to who gives it. */
  private @Nullable String noEffect;

  /** What to give in its place. */
  private @Nullable String instead;

  private Map<String, String> refusedWords = Map.of();
  private final List<String> variables = new ArrayList<>();

  private Key(String name, Type<T> type) {
    this.name = name;
    this.type = type;
  }

  // --- how one is declared ---

  /** A key with a default; null for one that {@link #fallback} will tell. */
  public static <T> Key<T> of(String name, Type<T> type, @Nullable T fallback) {
    return new Key<>(name, type)
        .fallback(none -> fallback, fallback == null ? "null" : type.write(fallback));
  }

  /** A key the file must give. */
  public static <T> Key<T> required(String name, Type<T> type) {
    Key<T> key = new Key<>(name, type);
    key.required = true;
    return key.fallback(none -> null, "required");
  }

  /** A key that is unset, {@code null}, unless the file gives it. */
  public static <T> Key<T> optional(String name, Type<T> type) {
    return of(name, type, null).orNull();
  }

  /** A mapping of more keys, which is there though the file leaves it out. */
  public static Key<Settings> mapping(String name, Section section) {
    Key<Settings> key = of(name, section, section.empty());
    key.merged = true;
    return key;
  }

  /**
   * A key of Ray Serve's that changes nothing here and misleads nobody by it: its value is checked,
   * then dropped with a warning.
   *
   * @param why a clause that ends the sentence "has no effect: ..."
   */
  public static <T> Key<T> noEffect(String name, Type<T> type, String why) {
    Key<T> key = new Key<>(name, type);
    key.noEffect = why;
    return key.orNull().reaches(Reach.NOTHING).means("No effect: " + why + ".");
  }

  /** One or two sentences for the reference. */
  public Key<T> means(String text) {
    meaning = text;
    return this;
  }

  /** With {@code null} allowed in the file, which means unset. */
  public Key<T> orNull() {
    nullable = true;
    return this;
  }

  /** With {@code null} allowed in the file, which is a value other than the default: none. */
  public Key<T> orNone() {
    noneIsAValue = true;
    return orNull();
  }

  /**
   * With a default that depends on something.
   *
   * @param value made from what else is said, whenever it is asked for
   * @param text as the reference shows it
   */
  public Key<T> fallback(Function<Settings, @Nullable T> value, String text) {
    fallback = value;
    fallbackText = text;
    return this;
  }

  /** With what takes its value, and so with what a change of it needs; an instance unless said. */
  public Key<T> reaches(Reach what) {
    reach = what;
    return this;
  }

  /** Refused when above the value of {@code other}, a key beside it or of a mapping around it. */
  public Key<T> atMost(Supplier<Key<?>> other) {
    bounds.add(new Bound(other, false));
    return this;
  }

  /** Refused when below the value of {@code other}. */
  public Key<T> atLeast(Supplier<Key<?>> other) {
    bounds.add(new Bound(other, true));
    return this;
  }

  /** Taken for the value of {@code other} when above it. */
  public Key<T> cappedBy(Key<T> other) {
    cap = other;
    return this;
  }

  /**
   * Still read, with a warning.
   *
   * @param other what to give in its place
   */
  public Key<T> deprecated(String other) {
    instead = other;
    return this;
  }

  /**
   * With a word that Ray Serve takes here, refused in these words.
   *
   * @param why a clause that follows "not supported by this version: "
   */
  public Key<T> without(String word, String why) {
    refusedWords = Map.of(word, why);
    return this;
  }

  /** With a variable of the environment that sets it, in seconds where it is a time. */
  public Key<T> variable(String environment) {
    variables.add(environment);
    return this;
  }

  // --- what follows from it ---

  /** As in the file. */
  public String name() {
    return name;
  }

  /** What may stand behind it. */
  public Type<T> type() {
    return type;
  }

  /** One or two sentences for the reference. */
  public String meaning() {
    return meaning;
  }

  /** Variables of the environment that set it, the one that wins first. */
  public List<String> variables() {
    return List.copyOf(variables);
  }

  /** Whether the file must give it. */
  public boolean required() {
    return required;
  }

  /** Whether the file may give it as {@code null}. */
  public boolean nullable() {
    return nullable;
  }

  /** Whether {@code null} says something other than nothing. */
  public boolean noneIsAValue() {
    return noneIsAValue;
  }

  /** Whether it is a mapping that two sides give key by key; any other value is given whole. */
  public boolean merged() {
    return merged;
  }

  /** The default as the reference shows it. */
  public String fallbackText() {
    return fallbackText;
  }

  /** What takes its value. */
  public Reach reach() {
    return reach;
  }

  /** Why it has no meaning here; null for one that does something. */
  @Nullable String noEffect() {
    return noEffect;
  }

  /** What has taken its place; null when nothing has. */
  @Nullable String instead() {
    return instead;
  }

  /** The value at {@code node}, or null after its problems are reported at {@code place}. */
  @Nullable T read(Node node, Place place) {
    String word = Scalars.string(node);
    String why = word == null ? null : refusedWords.get(word);
    if (why == null) {
      return type.read(node, place);
    }
    place.problem(node, Scalars.show(node) + ", " + Section.NOT_SUPPORTED + why, type.expected());
    return null;
  }

  /** The value where nobody says one; null for a key that then stays unset. */
  public @Nullable T fallback(Settings settings) {
    return fallback.apply(settings);
  }

  /** {@code value}, or less where another key caps it. */
  public T capped(T value, Settings settings) {
    T most = cap == null ? null : settings.find(cap);
    return most != null && compare(value, most) > 0 ? most : value;
  }

  /** Reports a value that is past the one of a key that bounds it. */
  public void checkBounds(Settings settings) {
    bounds.forEach(bound -> checkBound(bound.by.get(), bound.above, settings));
  }

  private <U> void checkBound(Key<U> other, boolean above, Settings settings) {
    T value = settings.find(this);
    U limit = settings.knows(other) ? settings.find(other) : null;
    int order = value == null || limit == null ? 0 : compare(value, limit);
    if (value != null && limit != null && (above ? order < 0 : order > 0)) {
      String bound = (above ? "at least " : "at most ") + settings.pathOf(other);
      settings.problem(this, type.write(value), bound + ", " + other.type.write(limit));
    }
  }

  /** Of integers, whatever their size, or of times. */
  private static int compare(Object one, Object other) {
    return one instanceof Duration time
        ? time.compareTo((Duration) other)
        : Long.compare(((Number) one).longValue(), ((Number) other).longValue());
  }

  /** Throws unless {@code value} is allowed: the check of a value that comes from code. */
  public void require(T value) {
    if (!type.allows(value)) {
      throw refusal(type.write(value), type.expected());
    }
  }

  /** As the file's problems are told, without a place. */
  public IllegalArgumentException refusal(String value, String expected) {
    return new IllegalArgumentException(name + ": " + value + " (expected: " + expected + ")");
  }

  @Override
  public String toString() {
    return name;
  }
}

package dev.berth.config.keys;

import io.netty.util.NetUtil;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/** Factories of the types of key values. */
public final class Types {

  /** Largest integer that {@link #wholeNumber} accepts. */
  private static final long MAX_INTEGER = (1L << 62) - 1;

  private static final String LINE = "(?=.*\\S)[^\\x00-\\x1f\\x7f-\\x9f]+";

  private static final BigDecimal NANOS_PER_SECOND = BigDecimal.valueOf(1_000_000_000);

  /**
   * Maximum duration in a file: one year. A longer one is probably a typing error, and would
   * overflow.
   */
  private static final Duration MAX_DURATION = Duration.ofDays(365);

  /** TCP port; 0 selects any free port. */
  public static final Type<Integer> PORT = integer(0, 65_535, "");

  /** Duration above 0, in seconds, with fractions. */
  public static final Type<Duration> SECONDS =
      seconds("a number of seconds above 0, at most ", time -> !time.isZero());

  /** Duration in seconds, with fractions and 0. */
  public static final Type<Duration> SECONDS_OR_ZERO =
      seconds("a number of seconds from 0 to ", time -> true);

  /** Duration above 0, in seconds, or {@code never}, which is read as 0. */
  public static final Type<Duration> SECONDS_OR_NEVER = secondsOrNever();

  /** Number of any size, from 0. */
  public static final Type<Double> NUMBER_FROM_ZERO =
      number("a number >= 0", 0, Double.MAX_VALUE, true);

  /** Boolean, {@code true} or {@code false}. */
  public static final Type<Boolean> BOOL =
      new ScalarType<>("true or false", YamlScalars::bool, Schema.of("boolean"));

  /** The value {@code true}, the only one of a key. */
  public static final Type<Boolean> TRUE =
      new ScalarType<>(
          "true",
          node -> Boolean.TRUE.equals(YamlScalars.bool(node)) ? true : null,
          Schema.oneOf(List.of(true)));

  /** String that is never printed, even when invalid. */
  public static final Type<String> SECRET = new Secret();

  /** Path of a file that holds only a secret; the value is the secret. */
  public static final Type<String> SECRET_FILE = PathType.SECRET;

  /** Existing, readable file, relative to the configuration's folder. */
  public static final Type<Path> FILE = PathType.FILE;

  /** Path that need not exist, relative to the configuration's folder. */
  public static final Type<Path> PATH = PathType.ANY;

  /** Non-blank string on one line. */
  public static final Type<String> TEXT =
      string("a non-empty string on one line", "^" + LINE + "$");

  /** Name of an application or a deployment. Ids join the two names with {@code #}. */
  public static final Type<String> HEADER_NAME =
      string("a name of a header", "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$");

  public static final Type<String> NAME =
      string("a non-empty string on one line, without #", "^(?!.*#)" + LINE + "$");

  /** Empty, or a path in front of every route. */
  public static final Type<String> ROOT_PATH =
      string(
          "empty, or a path that starts with /, does not end with /, and has no ? or #",
          "^((?=/)(?!.*[?#])(?!.*/$)" + LINE + ")?$");

  /** Prefix of metric names, possibly empty. */
  public static final Type<String> METRIC_PREFIX =
      string("empty, or letters, digits and _, no digit first", "^([a-zA-Z_][a-zA-Z0-9_]*)?$");

  /** Returns a type of IP addresses and networks. */
  public static Type<String> network() {
    return string(
        "an IP address, or a network as 10.0.0.0/8",
        Types::isNetwork,
        "^[0-9a-fA-F:.]+(/\\d{1,3})?$");
  }

  private static boolean isNetwork(String text) {
    String address = text.replaceFirst("/\\d{1,3}$", "");
    int bits = address.equals(text) ? 0 : Integer.parseInt(text.substring(address.length() + 1));
    return NetUtil.isValidIpV4Address(address)
        ? bits <= 32
        : NetUtil.isValidIpV6Address(address) && address.indexOf('%') < 0 && bits <= 128;
  }

  /** Route prefix, by Ray Serve's rules. */
  public static final Type<String> ROUTE_PREFIX =
      string(
          "a path that starts with /, does not end with / unless it is / itself, and has no { or }",
          "^(/|(?=/)(?!.*[{}])(?!.*/$)" + LINE + ")$");

  /** Prefix of an item of {@link #JARS} that is named by its SHA-256, which follows. */
  public static final String JAR_BY_CONTENT = "sha256:";

  /** Existing jars and directories of jars; the value is the list of jars. */
  public static final Type<List<Path>> JARS = new JarList();

  /** Any mapping of JSON values. */
  public static final Type<Map<String, @Nullable Object>> FREE_MAP = new FreeFormMapType();

  /** Any value, for keys that are never used. */
  public static final Type<Object> ANY = new ScalarType<>("any value", node -> node, Schema.any());

  /** Mapping of names to strings. */
  public static final Type<Map<String, @Nullable Object>> TEXT_MAP =
      new Type.RestrictedType<>(
          FREE_MAP,
          map -> map.values().stream().allMatch(String.class::isInstance),
          "a mapping of names to strings",
          "with a value that is not a string",
          Schema.of("object").with("additionalProperties", Schema.of("string")));

  private Types() {}

  /** Returns a type of integers from {@code least} to {@code most}, both included. */
  public static Type<Integer> integer(int least, int most, String unit) {
    return ranged(least, most, unit, Types::toInt, Integer::longValue);
  }

  /** Returns a type as {@link #integer} does, which also permits -1 for none. */
  public static Type<Integer> integerOrNone(int least, int most, String unit) {
    Type<Integer> counts = integer(least, most, unit);
    return new ScalarType<>(
        "-1 or " + counts.expected(),
        unit,
        node -> wholeNumber(node, Types::toInt),
        value -> value == -1 || counts.allows(value),
        Object::toString,
        Schema.any().with("anyOf", List.of(Schema.oneOf(List.of(-1)), counts.schema())));
  }

  /** Returns a type as {@link #integer} does, which also permits a word, read as -1. */
  public static Type<Integer> integerOr(String word, int least, int most, String unit) {
    Type<Integer> counts = integer(least, most, unit);
    return new ScalarType<>(
        word + ", or " + counts.expected(),
        unit,
        node -> {
          Integer number = wholeNumber(node, Types::toInt);
          Integer given = number != null && number == -1 ? null : number;
          return word.equals(YamlScalars.string(node)) ? Integer.valueOf(-1) : given;
        },
        value -> value == -1 || counts.allows(value),
        value -> value == -1 ? word : value.toString(),
        Schema.any().with("anyOf", List.of(Schema.oneOf(List.of(word)), counts.schema())));
  }

  /** Returns a type of byte counts, written as plain integers. */
  public static Type<Long> bytes(long least, long most) {
    return ranged(least, most, "bytes", BigInteger::longValue, Long::longValue);
  }

  /** Returns a type of durations in whole seconds, as HTTP's Retry-After requires. */
  public static Type<Duration> wholeSeconds(int least, int most) {
    return ranged(
        least, most, "s", number -> Duration.ofSeconds(number.longValue()), Duration::toSeconds);
  }

  /** Returns a type of durations in whole milliseconds. */
  public static Type<Duration> millis(int least, int most) {
    return ranged(
        least, most, "ms", number -> Duration.ofMillis(number.longValue()), Duration::toMillis);
  }

  /** Returns a type that permits some words or numbers, compared by their text. */
  public static <T> Type<T> choice(List<T> all) {
    return choice(all, Object::toString);
  }

  /** Returns a type that permits an enum's constants, in lower case. */
  public static <E extends Enum<E>> Type<E> words(Class<E> all) {
    return choice(List.of(all.getEnumConstants()), word -> word.name().toLowerCase(Locale.ROOT));
  }

  private static <T> Type<T> choice(List<T> all, Function<T, String> write) {
    boolean numbers = all.get(0) instanceof Number;
    Function<Node, @Nullable T> read =
        node -> {
          Object text = numbers ? YamlScalars.integer(node) : YamlScalars.string(node);
          return all.stream()
              .filter(choice -> text != null && write.apply(choice).equals(text.toString()))
              .findFirst()
              .orElse(null);
        };
    List<String> words = all.stream().map(write).toList();
    String last = words.get(words.size() - 1);
    String expected =
        words.size() == 1
            ? last
            : String.join(", ", words.subList(0, words.size() - 1)) + " or " + last;
    List<?> shown = numbers ? all : words;
    return new ScalarType<>(expected, "", read, all::contains, write, Schema.oneOf(shown));
  }

  /** Returns a type of numbers from {@code least} to {@code most}, both included. */
  public static Type<Double> number(double least, double most) {
    return number("a number from " + write(least) + " to " + write(most), least, most, true);
  }

  /** Returns a type of numbers above 0 and at most {@code most}. */
  public static Type<Double> numberAboveZero(double most) {
    return number("a number above 0, at most " + write(most), 0, most, false);
  }

  private static Type<Double> number(String expected, double least, double most, boolean leastToo) {
    Function<Node, @Nullable Double> read =
        node -> {
          BigDecimal number = YamlScalars.number(node);
          return number == null ? null : Double.valueOf(number.doubleValue());
        };
    return new ScalarType<>(
        expected,
        "",
        read,
        value -> (leastToo ? value >= least : value > least) && value <= most,
        Types::write,
        Schema.of("number")
            .with(leastToo ? "minimum" : "exclusiveMinimum", least)
            .with("maximum", most));
  }

  private static String write(double number) {
    return BigDecimal.valueOf(number).stripTrailingZeros().toPlainString();
  }

  /**
   * Returns a type of values parsed from a text; a number in the file is parsed as text.
   *
   * @param parse returns null for an invalid text
   */
  public static <T> Type<T> parsed(
      String expected, Function<String, @Nullable T> parse, Map<String, Object> schema) {
    Function<Node, @Nullable T> read =
        node -> {
          String text = YamlScalars.string(node);
          BigDecimal number = text == null ? YamlScalars.number(node) : null;
          String given = number == null ? text : number.toPlainString();
          return given == null ? null : parse.apply(given);
        };
    return new ScalarType<>(expected, read, schema);
  }

  /** Returns a type of lists with items of one type. */
  public static <T> Type<List<T>> list(Type<T> item) {
    return new ListType<>(item);
  }

  private static <T> Type<T> ranged(
      long least,
      long most,
      String unit,
      Function<BigInteger, @Nullable T> make,
      Function<T, Long> size) {
    boolean open = most == Integer.MAX_VALUE || most == Long.MAX_VALUE;
    String what = unit.equals("s") ? "a whole number of seconds" : "an integer";
    String expected = open ? what + " >= " + least : what + " from " + least + " to " + most;
    return new ScalarType<>(
        expected,
        unit,
        node -> wholeNumber(node, make),
        value -> size.apply(value) >= least && size.apply(value) <= most,
        value -> size.apply(value).toString(),
        Schema.of("integer").with("minimum", least).with("maximum", Math.min(most, MAX_INTEGER)));
  }

  /** Returns null for a number of more bits, which must not wrap around into the range. */
  private static @Nullable Integer toInt(BigInteger number) {
    return number.bitLength() < Integer.SIZE ? Integer.valueOf(number.intValue()) : null;
  }

  private static <T> @Nullable T wholeNumber(Node node, Function<BigInteger, @Nullable T> make) {
    BigInteger number = YamlScalars.integer(node);
    return number == null || number.bitLength() > 62 ? null : make.apply(number);
  }

  private static Type<Duration> seconds(String expected, Predicate<Duration> allowed) {
    Predicate<Duration> inRange =
        time -> !time.isNegative() && time.compareTo(MAX_DURATION) <= 0 && allowed.test(time);
    return new ScalarType<>(
        expected + MAX_DURATION.toSeconds(),
        "s",
        Types::time,
        inRange,
        Types::writeSeconds,
        Schema.of("number")
            // The minimum above 0 is one nanosecond.
            .with("minimum", allowed.test(Duration.ZERO) ? 0 : BigDecimal.valueOf(1, 9))
            .with("maximum", MAX_DURATION.toSeconds()));
  }

  private static Type<Duration> secondsOrNever() {
    String never = "never";
    Type<Duration> seconds = SECONDS;
    return new ScalarType<>(
        never + ", or " + seconds.expected(),
        "s",
        node -> never.equals(YamlScalars.string(node)) ? Duration.ZERO : timeAboveZero(node),
        time -> time.isZero() || seconds.allows(time),
        time -> time.isZero() ? never : seconds.write(time),
        Schema.any().with("anyOf", List.of(Schema.oneOf(List.of(never)), seconds.schema())));
  }

  private static @Nullable Duration timeAboveZero(Node node) {
    Duration time = time(node);
    return time == null || time.isZero() ? null : time;
  }

  private static @Nullable Duration time(Node node) {
    BigDecimal seconds = YamlScalars.number(node);
    if (seconds == null || seconds.abs().compareTo(BigDecimal.valueOf(Integer.MAX_VALUE)) > 0) {
      return null;
    }
    return Duration.ofNanos(seconds.multiply(NANOS_PER_SECOND).longValue());
  }

  private static String writeSeconds(Duration time) {
    return BigDecimal.valueOf(time.toNanos())
        .divide(NANOS_PER_SECOND)
        .stripTrailingZeros()
        .toPlainString();
  }

  /**
   * Returns a type of strings that match a pattern.
   *
   * @param pattern a regular expression of ECMA-262, from {@code ^} to {@code $}
   */
  public static Type<String> string(String expected, String pattern) {
    int asInEcma = Pattern.DOTALL | Pattern.UNICODE_CHARACTER_CLASS;
    return string(expected, Pattern.compile(pattern, asInEcma).asMatchPredicate(), pattern);
  }

  private static Type<String> string(String expected, Predicate<String> allowed, String pattern) {
    return new ScalarType<>(
        expected, "", YamlScalars::string, allowed, Function.identity(), Schema.text(pattern));
  }
}

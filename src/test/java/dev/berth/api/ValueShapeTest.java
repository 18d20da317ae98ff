package dev.berth.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ValueShapeTest {
  private static final Json JSON = Json.of(ValueShapeTest.class, ValueShapeTest.class);

  enum Colour {
    RED,
    GREEN {
      @Override
      public String toString() {
        return "as grass";
      }
    }
  }

  record Flat(
      String text, @Nullable Integer box, Colour colour, double number, char letter, boolean yes) {}

  record Deep(Flat flat, @Nullable Deep next, long number) {}

  record WithList(String text, List<String> more) {}

  record Holding(WithList inner) {}

  record WithArray(byte[] bytes) {}

  record WithObject(Object any) {}

  record Generic<T>(T any) {}

  record WithOptional(Optional<String> maybe) {}

  record Clashing(@JsonProperty("a") String one, @JsonProperty("a") String two) {}

  record Throwing(String text) {
    @Override
    public String text() {
      throw new IllegalStateException("not today");
    }
  }

  record Picky(@JsonValue String text) {}

  static final class Bean {
    public String text = "";
  }

  /** Values, and whether they are shared: no others than records that cannot change, and short. */
  static Stream<Arguments> values() {
    Flat flat = new Flat("a", null, Colour.GREEN, 1, 'x', true);
    WithList list = new WithList("a", List.of());
    return Stream.of(
        Arguments.of(flat, true),
        Arguments.of(new Deep(flat, new Deep(flat, null, 1), 2), true),
        Arguments.of(new Picky("a"), true),
        Arguments.of(list, false),
        Arguments.of(new Holding(list), false),
        Arguments.of(new WithArray(new byte[1]), false),
        Arguments.of(new WithObject("a string, today"), false),
        Arguments.of(new Generic<>("a"), false),
        Arguments.of(new WithOptional(Optional.empty()), false),
        Arguments.of(new Throwing("a"), false),
        Arguments.of(new Bean(), false),
        Arguments.of("a", false),
        Arguments.of(1, false),
        Arguments.of(Colour.RED, false),
        Arguments.of(new Flat("long".repeat(20_000), 1, Colour.RED, 1, 'x', true), false));
  }

  @ParameterizedTest
  @MethodSource("values")
  void aRecordThatCannotChangeIsSharedAndNothingElse(Object value, boolean shared) {
    assertThat(ValueShape.sharedBytes(value, JSON) > 0).isEqualTo(shared);
  }

  @Test
  void itsJsonIsNeverLongerThanWasSaid() throws Exception {
    ObjectMapper mapper = new ObjectMapper();
    Random random = new Random(5);
    for (int i = 0; i < 2_000; i++) {
      Deep value = null;
      for (int depth = random.nextInt(4); depth >= 0; depth--) {
        value = new Deep(random(random), value, random.nextLong());
      }
      assertThat(mapper.writeValueAsBytes(value).length)
          .as("seed 5, value %s", value)
          .isLessThanOrEqualTo(ValueShape.sharedBytes(value, JSON));
    }
  }

  private static Flat random(Random random) {
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(30); i > 0; i--) {
      text.appendCodePoint(random.nextBoolean() ? random.nextInt(40) : random.nextInt(0xd7ff));
    }
    return new Flat(
        text.toString(),
        random.nextBoolean() ? null : random.nextInt(),
        Colour.values()[random.nextInt(2)],
        random.nextInt(9) == 0 ? Double.NEGATIVE_INFINITY : -Double.MAX_VALUE * random.nextDouble(),
        (char) random.nextInt(0xd7ff),
        random.nextBoolean());
  }

  @Test
  void aChainOfAnyLengthIsLookedAtNoFurtherThanItMayCount() {
    Deep chain = null;
    for (int i = 0; i < 200_000; i++) {
      chain = new Deep(new Flat("", 1, Colour.RED, 1, 'x', true), chain, 1);
    }
    assertThat(ValueShape.sharedBytes(chain, JSON)).isNegative();
  }

  @Test
  void whatHasNoJsonIsFoundByTheFirstOfItsClass() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ValueShape.sharedBytes(new Clashing("a", "b"), JSON))
        .withMessageContaining("ValueShapeTest$Clashing: ");
  }
}

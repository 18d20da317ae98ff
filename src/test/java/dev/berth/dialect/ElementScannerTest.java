package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.berth.dialect.ElementScanner.ArrayElements;
import io.vertx.core.buffer.Buffer;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies of a batch and the elements of its response, as the bytes that they are. */
class ElementScannerTest {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  private static List<String> split(String array) {
    return ElementScanner.split(Buffer.buffer(array), 100).first().stream()
        .map(Buffer::toString)
        .toList();
  }

  private static boolean isValue(Buffer body) {
    try {
      ElementScanner.requireValue(body);
      return true;
    } catch (DialectProblem problem) {
      assertThat(problem).hasMessageContaining("(expected: one JSON value)");
      return false;
    }
  }

  @Test
  void elementsAreTheBytesBetweenCommas() {
    assertThat(split("[]")).isEmpty();
    assertThat(split(" \n[ \t] ")).isEmpty();
    assertThat(split("[1.50 , -0,1e9]")).containsExactly("1.50", "-0", "1e9");
    assertThat(split("[[1,[2,3]],{\"a\":[4,{}]},[]] "))
        .containsExactly("[1,[2,3]]", "{\"a\":[4,{}]}", "[]");
    assertThat(split("[\"],[\",\"\\\\\",\"\\\"]\",{\"}]\":\"[{\"},null]"))
        .containsExactly("\"],[\"", "\"\\\\\"", "\"\\\"]\"", "{\"}]\":\"[{\"}", "null");
  }

  @Test
  void elementsBeyondTheMaximumAreOnlyCounted() {
    ArrayElements elements = ElementScanner.split(Buffer.buffer("[1,2,3,4]"), 2);

    assertThat(elements.first()).hasSize(2);
    assertThat(elements.count()).isEqualTo(4);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "{}",
        "1",
        "\"[]\"",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1]]",
        "[1],",
        "[1] 2",
        "[1}",
        "[{]",
        "[{\"a\":1]}",
        "[\"a]",
        "[tru]",
        "\ufeff[1]",
        "[1]\u0000"
      })
  void anythingButOneArrayIsRefused(String text) {
    assertThatThrownBy(() -> split(text))
        .isInstanceOf(DialectProblem.class)
        .hasMessageContaining("(expected: one JSON array)");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1",
        "-0.5e+7",
        "\"\"",
        "\"a\\u00e4\\n\"",
        "true",
        "null",
        "[]",
        "{}",
        " {\"a\" : [ 1 , {} ] } ",
        "{\"\":{\"\":0},\"\":1}",
        "12345678901234567890123456789012345678901234567890.10"
      })
  void valueIsAccepted(String text) {
    assertThat(isValue(Buffer.buffer(text))).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "1,2",
        "1],[2",
        "01",
        "1.",
        ".5",
        "+1",
        "NaN",
        "'a'",
        "\"\\x\"",
        "\"\t\"",
        "\"a",
        "{a:1}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{1:2}",
        "[1}",
        "{\"a\":1]",
        "//c\n1",
        "1//c",
        "/**/1",
        "tRue",
        "\u00a01"
      })
  void anythingElseIsRefused(String text) {
    assertThat(isValue(Buffer.buffer(text))).isFalse();
  }

  @Test
  void stringsAreStrictlyUtf8() {
    assertThat(isValue(Buffer.buffer("\"\u00e4\ud83d\ude00\""))).isTrue();
    for (int bad : new int[] {0x80, 0xc0, 0xe4, 0xff}) {
      assertThat(isValue(Buffer.buffer("\"").appendByte((byte) bad).appendString("\""))).isFalse();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"[", "{\"a\":"})
  void nestingIsBounded(String open) {
    assertThat(isValue(Buffer.buffer(open.repeat(1_000_000)))).isFalse();
    String close = open.equals("[") ? "]" : "}";
    int most = ElementScanner.MAX_DEPTH;
    assertThat(isValue(Buffer.buffer(open.repeat(most) + "1" + close.repeat(most)))).isTrue();
    assertThat(isValue(Buffer.buffer(open.repeat(most + 1) + "1" + close.repeat(most + 1))))
        .isFalse();
  }

  @Property(tries = 5_000)
  void scanAgreesWithAFullParse(@ForAll long seed) {
    RandomJson random = new RandomJson(seed);
    Buffer body = Buffer.buffer(random.damage(random.body()));

    assertThat(isValue(body)).as(body.toString()).isEqualTo(parses(body));
  }

  @Property(tries = 1_000)
  void joinedValuesAreSplitAgain(@ForAll long seed) {
    RandomJson random = new RandomJson(seed);
    List<String> values = Stream.generate(random::body).limit(3).toList();

    assertThat(split(values.stream().collect(Collectors.joining(",", "[", "]"))))
        .isEqualTo(values.stream().map(each -> Buffer.buffer(each).toString().strip()).toList());
  }

  private static boolean parses(Buffer body) {
    try {
      String text =
          StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body.getBytes())).toString();
      return !JSON.readTree(text).isMissingNode();
    } catch (CharacterCodingException | JsonProcessingException invalid) {
      return false;
    }
  }
}

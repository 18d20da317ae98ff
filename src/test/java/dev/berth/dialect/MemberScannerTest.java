package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MemberScannerTest {

  private static @Nullable String scan(String body) {
    return MemberScanner.scan(Buffer.buffer(body), "max_tokens");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"max_tokens\":512}|512",
        " { \"a\" : [1,{}], \"max_tokens\" : 512 } |512",
        "{\"max\\u005ftokens\":7}|7",
        "{\"max_tokens\":\"512\"}|\"512\"",
        "{\"max_tokens\":[1]}|[1]",
        "{\"max_tokens\":1e9}|1e9",
        "{\"a\":\"\\\"max_tokens\\\":5\",\"max_tokens\":-0.5}|-0.5",
      })
  void valueIsReturnedAsItIs(String body, String value) {
    assertThat(scan(body)).isEqualTo(value);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"{}", "{\"max_tokens\":null}", "{\"a\":{\"max_tokens\":5}}", "{\"max_token\":5}"})
  void absentMemberIsNull(String body) {
    assertThat(scan(body)).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"max_tokens\":1,\"max_tokens\":1}",
        "{\"max_tokens\":null,\"max_tokens\":1}",
        "{\"Max_Tokens\":1}",
        "{\"max_tokens\":1,\"MAX_TOKENS\":9}",
        "{\"max_tokens\":1",
        "{\"max_tokens\":01}",
        "{\"max_tokens\":1}x",
        "[5]",
        "5"
      })
  void ambiguousOrBrokenBodyIsRefused(String body) {
    assertThatThrownBy(() -> scan(body)).isInstanceOf(DialectProblem.class);
  }

  @Test
  void longValueIsNotCopied() {
    assertThat(scan("{\"max_tokens\":\"" + "9".repeat(9 << 20) + "\"}"))
        .isEqualTo("a value of 9437186 bytes");
  }

  @Test
  void memberBehindNineMegabytesIsFoundInOnePass() {
    String text = "say \\\"hello\\\" \\\\ ".repeat(9 * 65_536);
    MemberScanner scanner =
        new MemberScanner(
            Buffer.buffer("{\"messages\":[\"" + text + "\"],\"max_tokens\":512}"), "max_tokens");

    assertThat(scanner.scan()).isEqualTo("512");
    assertThat(scanner.reads).isLessThan(3L * text.length());
  }
}

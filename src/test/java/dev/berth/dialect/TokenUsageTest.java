package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TokenUsageTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}      | 3  | 4",
        "{\"usage\":{\"completion_tokens\":0,\"prompt_tokens\" : 0 } , \"id\":\"x\"}  | 0  | 0",
        "{\"data\":[{\"embedding\":[0.1,-2e3]}],\"usage\":{\"prompt_tokens\":7}}       | 7  | -1",
        "{\"type\":\"message\",\"usage\":{\"input_tokens\":9,\"output_tokens\":8}}     | 9  | 8",
        "{\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":2,"
            + "\"cache_creation_input_tokens\":null,\"cache_creation\":{\"input_tokens\":50},"
            + "\"output_tokens\":8}}                                                    | 11 | 8",
        "{\"usage\":{\"output_tokens\":8,\"cache_read_input_tokens\":2}}               | -1 | 8",
        "{\"usage\":{\"prompt_tokens\":3},\"usage\":{\"prompt_tokens\":5}}             | 5  | -1",
        "{\"response\":{\"id\":\"r\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}} | 3  | 1",
        "{\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}              | 3  | -1",
        "{\"usage\":{\"prompt_tokens\":999999999999999,\"completion_tokens\":1}} | 999999999999999 | 1",
        "{\"usage\":{\"prompt_tokens\":1000000000000000,\"completion_tokens\":2}} | -1 | 2",
        "{\"usage\":{\"prompt_tokens\":03,\"completion_tokens\":2}}                  | -1 | 2",
      })
  void usageOfAWholeResponseIsRead(String body, long input, long output) {
    assertThat(ofAnswer(Buffer.buffer(body))).isEqualTo(new TokenUsage(input, output));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "not JSON",
        "{\"usage\":null}",
        "{\"usage\":{}}",
        "{\"usage\":7}",
        "{\"input_tokens\":7}",
        "[{\"usage\":{\"prompt_tokens\":3}}]",
        "{\"usage\":[{\"prompt_tokens\":3}]}",
        "{\"x\":{\"usage\":{\"prompt_tokens\":3}}}",
        "{\"x\":\"\\\"usage\\\":{\\\"prompt_tokens\\\":3}\"}",
        "{\"usage.prompt_tokens\":3}",
        "{\"us\\u0061ge\":{\"prompt_tokens\":3}}",
        "{\"usage\":{\"prompt_tokens\":\"3\"}}",
        "{\"usage\":{\"prompt_tokens\":-3}}",
        "{\"usage\":{\"prompt_tokens\":3.0}}",
        "{\"usage\":{\"prompt_tokens\":3e2}}",
        "{\"usage\":{\"prompt_tokens\":99999999999999999999}}",
        "{\"usage\":{\"prompt_tokens\":null}}",
        "{\"usage\":{\"prompt_tokens\":3",
        "{\"usage\":{\"prompt_tokens\":3}",
        "{\"usage\":{\"prompt_tokens\":3]}",
        "}{\"usage\":{\"prompt_tokens\":3}}",
        "{\"a\":{\"b\":{\"c\":{\"d\":{\"usage\":{\"prompt_tokens\":3}}}}}}",
        "{\"message\":{\"message\":{\"usage\":{\"input_tokens\":3}}}}"
      })
  void usageIsNeverGuessed(String body) {
    assertThat(ofAnswer(Buffer.buffer(body))).isEqualTo(TokenUsage.NONE);
  }

  @Test
  void usageIsReadBesideManyMembersAndLongNumbers() {
    String many =
        IntStream.range(0, 1_001).mapToObj(i -> "\"m" + i + "\":0,").collect(Collectors.joining());
    String body =
        "{" + many + "\"long\":" + "7".repeat(2_000) + ",\"usage\":{\"prompt_tokens\":3}}";

    assertThat(ofAnswer(Buffer.buffer(body))).isEqualTo(new TokenUsage(3, TokenUsage.UNKNOWN));
  }

  @Test
  void partsOfABodyAreReadInPlace() {
    ByteBuf all =
        Unpooled.copiedBuffer(
            "....{\"a\":\"0123456789\",\"usage\":{\"prompt_tokens\":42}}",
            StandardCharsets.US_ASCII);
    ByteBuf direct = Unpooled.directBuffer().writeBytes(all, 20, all.readableBytes() - 20);
    Buffer body =
        BufferInternal.buffer(
            Unpooled.wrappedBuffer(all.slice(4, 9), all.slice(13, 7), direct.asReadOnly()));

    assertThat(UsageScanner.scan(body)).isEqualTo(new TokenUsage(42, TokenUsage.UNKNOWN));
  }

  /** Returns the usage that both readers find: of the whole document, and of its bytes. */
  private static TokenUsage ofAnswer(Buffer body) {
    EventStream document = new EventStream(false, UsageMode.READ);
    for (int i = 0; i < body.length(); i++) {
      document.pass(body.slice(i, i + 1));
    }
    document.end();
    assertThat(UsageScanner.scan(body)).isEqualTo(document.usage());
    return document.usage();
  }
}

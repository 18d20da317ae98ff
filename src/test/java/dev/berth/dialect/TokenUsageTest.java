package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.buffer.Buffer;
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
        "{\"a\":{\"b\":{\"c\":{\"d\":{\"usage\":{\"prompt_tokens\":3}}}}}}"
      })
  void usageIsNeverGuessed(String body) {
    assertThat(ofAnswer(Buffer.buffer(body))).isEqualTo(TokenUsage.NONE);
  }

  private static TokenUsage ofAnswer(Buffer body) {
    EventStream document = new EventStream(false, UsageMode.READ);
    document.pass(body);
    document.end();
    return document.usage();
  }
}

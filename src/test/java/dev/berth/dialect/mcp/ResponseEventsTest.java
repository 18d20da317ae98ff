package dev.berth.dialect.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.buffer.Buffer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ResponseEventsTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "data: {\"id\":1,\"result\":{}}\\n\\n|true",
        "id: 1\\ndata:{ \"id\" : \"a\\\"\", \"error\" : {} }\\n\\n|true",
        "data: {\"id\":1,\\ndata: \"result\":1}\\n\\n|true",
        "data: {\"method\":\"result\",\"params\":{\"result\":[{\"error\":1}]}}\\n\\n|false",
        "data: {\"a\":[1,\"result\"],\"results\":1,\"resul\":2}\\n\\n|false",
        "event: {\"result\":1}\\n\\n|false",
        ": data: {\"result\":1}\\n\\n|false",
        "data: {\"method\":\"a\\n\\ndata: {\"result\":1}\\n\\n|true"
      })
  void responseIsFoundWhereverAPieceEnds(String escaped, boolean response) {
    String text = escaped.replace("\\n", "\n");
    for (int cut = 0; cut <= text.length(); cut++) {
      ResponseEvents lines = new ResponseEvents();
      lines.pass(Buffer.buffer(text.substring(0, cut)));
      lines.pass(Buffer.buffer(text.substring(cut)));
      assertThat(lines.sawResponse()).as(text + cut).isEqualTo(response);
    }
  }
}

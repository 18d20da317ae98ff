package dev.berth.dialect.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.buffer.Buffer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EventLinesTest {
  @ParameterizedTest
  @CsvSource({
    "'', true, false",
    "'data: a\n\n', true, false",
    "'data: a\n', false, false",
    "'id: 1\ndata: a\n\n', true, true",
    "'data: a\r\nid:1\r\n\r\n', true, true",
    "'data: a\r\rid', false, false",
    "': id: 1\n\n', true, false",
    "'idea: 1\n\n', true, false",
    "'data: id:\n\n', true, false"
  })
  void boundariesAndIdsAreFoundWhereverAPieceEnds(String text, boolean boundary, boolean ids) {
    for (int cut = 0; cut <= text.length(); cut++) {
      EventLines lines = new EventLines();
      lines.pass(Buffer.buffer(text.substring(0, cut)));
      lines.pass(Buffer.buffer(text.substring(cut)));
      assertThat(lines.atBoundary()).as(text + cut).isEqualTo(boundary);
      assertThat(lines.sawIds()).as(text + cut).isEqualTo(ids);
    }
  }

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
      EventLines lines = new EventLines();
      lines.pass(Buffer.buffer(text.substring(0, cut)));
      lines.pass(Buffer.buffer(text.substring(cut)));
      assertThat(lines.sawResponse()).as(text + cut).isEqualTo(response);
    }
  }
}

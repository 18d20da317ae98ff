package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.buffer.Buffer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FieldLinesTest {
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
      FieldLines lines = new FieldLines("id:");
      lines.pass(Buffer.buffer(text.substring(0, cut)));
      lines.pass(Buffer.buffer(text.substring(cut)));
      assertThat(lines.atBoundary()).as(text + cut).isEqualTo(boundary);
      assertThat(lines.sawField()).as(text + cut).isEqualTo(ids);
    }
  }
}

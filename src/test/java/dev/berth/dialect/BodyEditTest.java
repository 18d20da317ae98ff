package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.buffer.Buffer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BodyEditTest {

  @ParameterizedTest
  @CsvSource({
    "0, 0, ab, ab0123456789",
    "0, 1, ab, ab123456789",
    "3, 3, ab, 012ab3456789",
    "3, 5, '', 01256789",
    "3, 5, a\u00e4, 012a\u00e456789",
    "9, 10, x, 012345678x",
    "10, 10, x, 0123456789x"
  })
  void editReplacesItsRange(int start, int end, String text, String expected) {
    Buffer body = Buffer.buffer("0123456789");

    Buffer edited = new BodyEdit(start, end, text).apply(body);

    assertThat(edited.toString()).isEqualTo(expected);
    assertThat(edited.length()).isEqualTo(Buffer.buffer(expected).length());
    assertThat(Buffer.buffer().appendBuffer(edited)).isEqualTo(Buffer.buffer(expected));
    assertThat(body.toString()).isEqualTo("0123456789");
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "2, 2", "5, 7", "9, 11"})
  void offsetsBehindTheRangeShift(int before, int after) {
    BodyEdit edit = new BodyEdit(3, 5, "\u00e4\u00e4");

    assertThat(edit.shift(before)).isEqualTo(after);
  }

  @ParameterizedTest
  @CsvSource({"0, 2", "9, 11"})
  void insertionShiftsTheBytesFromItsPlaceOn(int before, int after) {
    assertThat(new BodyEdit(0, 0, "xx").shift(before)).isEqualTo(after);
  }
}

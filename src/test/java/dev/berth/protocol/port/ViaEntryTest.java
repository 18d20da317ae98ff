package dev.berth.protocol.port;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ViaEntryTest {
  private final ViaEntry own = ViaEntry.of(0xbe27L);

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1.1 berth-be27 | true",
        "2 berth-be27 | true",
        "HTTP/1.1 BERTH-BE27 | true",
        "1.0 fred, 1.1  berth-be27 (a comment), 1.1 other | true",
        "1.0 fred,1.1 berth-be27 | true",
        "1.1 berth-be270 | false",
        "1.1 berth-be2 | false",
        "1.1 other (berth-be27) | false",
        "berth-be27 | false",
        ",, 1.1 | false",
        "'' | false"
      })
  void entryIsFoundInTheHeader(String value, boolean found) {
    assertThat(own.isIn(List.of(value))).isEqualTo(found);
    assertThat(own.isIn(List.of("1.1 first", value))).isEqualTo(found);
  }

  @Test
  void ownValueIsFoundAndThatOfAnotherStartIsNot() {
    assertThat(own.isIn(List.of(own.value()))).isTrue();
    assertThat(own.isIn(List.of(ViaEntry.of(-1).value()))).isFalse();
    assertThat(own.isIn(List.of())).isFalse();
  }
}

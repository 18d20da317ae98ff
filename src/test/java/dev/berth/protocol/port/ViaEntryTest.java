package dev.berth.protocol.port;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ViaEntryTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "HTTP/1.1 BERTH-BE27 | true",
        "1.0 fred,2  berth-be27 (a comment), 1.1 other | true",
        "1.1 berth-be270 | false",
        "1.1 other (berth-be27) | false",
        "berth-be27, , 1.1 | false"
      })
  void entryIsFoundInTheHeader(String value, boolean found) {
    ViaEntry own = ViaEntry.of(0xbe27);
    assertThat(own.isIn(List.of("1.1 first", value))).isEqualTo(found);
    assertThat(own.isIn(List.of(own.value()))).isTrue();
  }
}

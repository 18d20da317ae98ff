package dev.berth.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ContentCodingTest {

  private static String preferred(String... lines) {
    return String.valueOf(ContentCoding.preferred(List.of(lines)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "gzip | GZIP",
        "GZIP, deflate, br | GZIP",
        "x-gzip | GZIP",
        "deflate | DEFLATE",
        "gzip;q=0.5, deflate;q=0.8 | DEFLATE",
        "gzip;q=0.500 ,deflate ; Q=0.5 | GZIP",
        "* | GZIP",
        "gzip;q=0, * | DEFLATE",
        "*;q=0, gzip | GZIP",
        "identity;q=0, deflate;q=0.1 | DEFLATE",
        "gzip;q=0.5 | GZIP",
        "identity, gzip;q=0.5 | null",
        "identity;q=0.5, gzip;q=0.5 | GZIP",
        "identity;q=0 | null",
        "*;q=0 | null",
        "gzip;q=0 | null",
        "br | null",
        "'' | null",
        "gzip;q=2 | null",
        "gzip;q=-1 | null",
        "gzip;q=x | null",
        "gzip;q=0.0001 | null",
        "gzip;level=1 | null",
        ",,;, | null",
      })
  void weightsDecide(String accepted, String coding) {
    assertThat(preferred(accepted)).isEqualTo(coding);
  }

  @Test
  void absentHeaderAndSeveralLinesCount() {
    assertThat(preferred()).isEqualTo("null");
    assertThat(preferred("br", "deflate;q=0.1", "identity;q=0")).isEqualTo("DEFLATE");
  }

  @Test
  void longHeaderIsReadInLinearTime() {
    String[] hostile = {
      "gzip;q=0.".repeat(900), ",".repeat(8192), "a,".repeat(4096), "gzip;q=" + " ".repeat(8000)
    };
    for (String each : hostile) {
      Assertions.assertTimeout(Duration.ofMillis(500), () -> preferred(each));
    }
  }
}

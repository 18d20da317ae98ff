package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a request's head says of its id and its time, and what a response's may not say. */
class RequestHeadTest {
  private static final long DEFAULT = Duration.ofSeconds(5).toNanos();

  private final RequestIds ids = new RequestIds(0xbe27L);

  @ParameterizedTest
  @ValueSource(strings = {"a", "0f8fad5b-d9cb-469f-a165-70867728950e", "x~!{}"})
  void aClientsIdIsPassedOn(String id) {
    assertThat(ids.idFor(id)).isEqualTo(id);
  }

  @ParameterizedTest
  @NullSource
  @ValueSource(strings = {"", " ", "a b", "a\tb", "a\r\nb", "caf\u00e9", "\u007f"})
  void anIdThatCannotBePassedOnIsReplaced(String id) {
    assertThat(ids.idFor(id)).isNotEqualTo(id).matches("be27-[0-9a-f]+");
  }

  @Test
  void anIdOf128CharactersIsTheLongest() {
    String longest = "x".repeat(128);
    assertThat(ids.idFor(longest)).isEqualTo(longest);
    assertThat(ids.idFor(longest + "x")).hasSizeLessThan(128);
  }

  @Test
  void madeIdsDiffer() {
    assertThat(ids.idFor(null)).isNotEqualTo(ids.idFor(null));
    assertThat(ids.idFor(null)).isNotEqualTo(new RequestIds(1).idFor(null));
  }

  @ParameterizedTest
  @CsvSource({"2, 2000000000", "0.25, 250000000", "' 1 ', 1000000000", "1e-12, 1"})
  void theHeaderSetsTheTimeout(String header, long nanos) {
    assertThat(ResolvedRoute.timeoutOf(header, DEFAULT)).isEqualTo(nanos);
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "-1", "-0.5", "Infinity", "1e300"})
  void aHeaderThatIsNotPositiveOrEndlessDisablesTheTimeout(String header) {
    assertThat(ResolvedRoute.timeoutOf(header, DEFAULT)).isEqualTo(ResolvedRoute.NO_TIMEOUT);
  }

  @ParameterizedTest
  @NullSource
  @ValueSource(strings = {"", "soon", "NaN", "1s"})
  void aHeaderThatIsNoNumberIsIgnored(String header) {
    assertThat(ResolvedRoute.timeoutOf(header, DEFAULT)).isEqualTo(DEFAULT);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Connection",
        "keep-alive",
        "Transfer-Encoding",
        "TE",
        "Trailer",
        "upgrade",
        "Proxy-Connection",
        "Content-Length"
      })
  void hopByHopAndFramingHeadersAreDropped(String name) {
    assertThat(HopByHop.isDropped(name)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"content-type", "set-cookie", "x-berth-replica", "etag", "vary", "date"})
  void otherHeadersAreKept(String name) {
    assertThat(HopByHop.isDropped(name)).isFalse();
  }

  @Test
  void aHeaderNamedByConnectionIsDroppedToo() {
    assertThat(HopByHop.isNamedBy("close, X-Internal", "x-internal")).isTrue();
    assertThat(HopByHop.isNamedBy("close", "x-internal")).isFalse();
    assertThat(HopByHop.isNamedBy(null, "x-internal")).isFalse();
  }
}

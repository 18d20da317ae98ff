package dev.berth.admin.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.view.CommandRejectedException;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that an operator may try out, and requests that would leave the data port. */
class PlayRequestTest {
  @Test
  void pathAloneIsAGetWithoutABody() {
    PlayRequest request = PlayRequest.of("{\"path\": \"/a?b=c\"}");
    assertThat(request.method()).isEqualTo(HttpMethod.GET);
    assertThat(request.path()).isEqualTo("/a?b=c");
    assertThat(request.headers()).isEmpty();
    assertThat(request.body()).isNull();
  }

  @Test
  void headersAreListedInPairs() {
    PlayRequest request =
        PlayRequest.of(
            "{\"path\": \"/\", \"headers\": [[\"X-A\", \"1\"], [\"x-a\", \"2\"], [\"Terms\", \"3\"]]}");
    assertThat(request.headers().getAll("X-A")).containsExactly("1", "2");
    assertThat(request.headers().get("terms")).isEqualTo("3");
  }

  @Test
  void bodyIsTextOrBase64() {
    assertThat(PlayRequest.of("{\"method\": \"POST\", \"path\": \"/\", \"body\": \"é\"}").body())
        .isEqualTo(Buffer.buffer("é"));
    assertThat(PlayRequest.of("{\"path\": \"/\", \"body_base64\": \"AP8=\"}").body())
        .isEqualTo(Buffer.buffer(new byte[] {0, -1}));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "a",
        "*",
        "http://169.254.169.254/latest",
        "//169.254.169.254/latest",
        "/\\\\169.254.169.254/",
        "@169.254.169.254/",
        ":80@host/",
        "/a b",
        "/a HTTP/1.1\\r\\nHost: other\\r\\n\\r\\nGET /b",
        "/a\\n",
        "/a\\u0000",
        "/a#b",
        "/\\u00e9"
      })
  void pathOfAnotherHostOrWithAnotherLineIsRefused(String path) {
    assertThatThrownBy(() -> PlayRequest.of("{\"path\": \"" + path + "\"}"))
        .isInstanceOf(CommandRejectedException.class)
        .hasMessageStartingWith("path: ")
        .hasMessageMatching("[^\\p{Cntrl}]+");
  }

  @ParameterizedTest
  @CsvSource({
    "Host, other",
    "hOsT, other",
    "Connection, X-A",
    "Content-Length, 0",
    "Transfer-Encoding, chunked",
    "TE, trailers",
    "Upgrade, h2c",
    "HTTP2-Settings, AA",
    "Expect, 100-continue",
    "Proxy-Connection, close",
    "Keep-Alive, 1",
    "Trailer, X",
    ":authority, other",
    "X A, 1",
    "'X:A', 1",
    "'', 1",
    "'X-A\\r\\nHost', other",
    "X-A, '1\\r\\nHost: other'",
    "X-A, '1\\nHost: other'",
    "X-A, '\\u0000'",
    "X-A, '\\u010a'"
  })
  void headerOfTheConnectionOrWithAnotherLineIsRefused(String name, String value) {
    assertThatThrownBy(
            () ->
                PlayRequest.of(
                    "{\"path\": \"/\", \"headers\": [[\"%s\", \"%s\"]]}".formatted(name, value)))
        .isInstanceOf(CommandRejectedException.class)
        .hasMessageStartingWith("headers")
        .hasMessageMatching("[^\\p{Cntrl}]+");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[]",
        "null",
        "{",
        "{}",
        "{\"path\": 1}",
        "{\"path\": \"/\", \"url\": \"http://other\"}",
        "{\"path\": \"/\", \"method\": \"CONNECT\"}",
        "{\"path\": \"/\", \"method\": \"GET /x\"}",
        "{\"path\": \"/\", \"method\": \"get\"}",
        "{\"path\": \"/\", \"method\": null}",
        "{\"path\": \"/\", \"headers\": 1}",
        "{\"path\": \"/\", \"headers\": [1]}",
        "{\"path\": \"/\", \"headers\": [[\"a\"]]}",
        "{\"path\": \"/\", \"headers\": {\"a\": \"1\"}}",
        "{\"path\": \"/\", \"body\": 1}",
        "{\"path\": \"/\", \"body_base64\": 1}",
        "{\"path\": \"/\", \"body_base64\": \"?\"}",
        "{\"path\": \"/\", \"body\": \"a\", \"body_base64\": \"AA==\"}"
      })
  void malformedRequestIsRefusedByItsKey(String json) {
    assertThatThrownBy(() -> PlayRequest.of(json))
        .isInstanceOf(CommandRejectedException.class)
        .hasMessageContaining("(expected: ");
  }

  @Test
  void auditLogHasNoQuery() {
    assertThat(PlayRequest.of("{\"path\": \"/a/b?key=secret\"}").subject())
        .containsExactly("method", "GET", "path", "/a/b");
  }
}

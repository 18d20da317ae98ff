package dev.berth.upstream.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Headers;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestEncoderTest {
  private final RequestEncoder encoder = new RequestEncoder("models.example:8000");

  private String encoded(
      String method, String target, Headers headers, long length, @Nullable String whole) {
    Buffer body = whole == null ? null : Buffer.buffer(whole);
    UpstreamRequest request = new UpstreamRequest(method, target, headers, length);
    ByteBuf bytes = encoder.request(UnpooledByteBufAllocator.DEFAULT, request, body);
    String text = bytes.toString(StandardCharsets.ISO_8859_1);
    bytes.release();
    return text;
  }

  @Test
  void wholeRequestIsOneBuffer() {
    Headers headers =
        Headers.of(
            "X-A", "b\té",
            "Host", "evil",
            "Connection", "close",
            "Content-Length", "9",
            "Transfer-Encoding", "chunked");
    assertThat(encoded("POST", "/v1/x?y=%20", headers, 0, "hello"))
        .isEqualTo(
            "POST /v1/x?y=%20 HTTP/1.1\r\nhost: models.example:8000\r\nX-A: b\té\r\n"
                + "content-length: 5\r\n\r\nhello");
  }

  @Test
  void partsOfABodyAreCopiedInOrder() {
    ByteBuf parts =
        Unpooled.wrappedBuffer(
            Unpooled.wrappedBuffer(new byte[] {'.', 'a', 'b'}, 1, 2),
            Unpooled.directBuffer().writeBytes(new byte[] {'c', 'd'}));
    Buffer body = BufferInternal.buffer(Unpooled.unreleasableBuffer(parts)).slice(1, 4);
    ByteBuf piece = RequestEncoder.piece(UnpooledByteBufAllocator.DEFAULT, body, true);

    assertThat(piece.toString(StandardCharsets.ISO_8859_1)).isEqualTo("3\r\nbcd\r\n");
    assertThat(body.length()).isEqualTo(3);
    piece.release();
  }

  @Test
  void framingFollowsTheBody() {
    String start = "%s / HTTP/1.1\r\nhost: models.example:8000\r\n";
    Headers none = Headers.empty();
    assertThat(encoded("GET", "/", none, 0, "")).isEqualTo(start.formatted("GET") + "\r\n");
    assertThat(encoded("POST", "/", none, 0, ""))
        .isEqualTo(start.formatted("POST") + "content-length: 0\r\n\r\n");
    assertThat(encoded("PUT", "/", none, 7, null))
        .isEqualTo(start.formatted("PUT") + "content-length: 7\r\n\r\n");
    assertThat(encoded("PUT", "/", none, UpstreamRequest.CHUNKED, null))
        .isEqualTo(start.formatted("PUT") + "transfer-encoding: chunked\r\n\r\n");
    assertThat(encoded("OPTIONS", "*", none, 0, "")).startsWith("OPTIONS * HTTP/1.1\r\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"\r", "\n", "\r\nx: y", "\u0000", "\u007f", "\u0100", "\u010a", "\u560d"})
  void illegalCharactersAreRefusedInEveryPart(String bad) {
    Headers none = Headers.empty();
    assertRefused(() -> encoded("GET" + bad, "/", none, 0, ""));
    assertRefused(() -> encoded("GET", "/a" + bad, none, 0, ""));
    // An implementation without checks, as a handler may pass one.
    for (List<String> pair : List.of(List.of("a" + bad, "b"), List.of("a", "b" + bad))) {
      Headers raw =
          new Headers() {
            @Override
            public @Nullable String get(String name) {
              return null;
            }

            @Override
            public void forEach(java.util.function.BiConsumer<String, String> each) {
              each.accept(pair.get(0), pair.get(1));
            }

            @Override
            public int size() {
              return 1;
            }
          };
      assertRefused(() -> encoded("GET", "/", raw, 0, ""));
    }
  }

  @Test
  void malformedRequestLinesAreRefused() {
    Headers none = Headers.empty();
    assertRefused(() -> encoded("", "/", none, 0, ""));
    assertRefused(() -> encoded("GET ", "/", none, 0, ""));
    assertRefused(() -> encoded("CONNECT", "/", none, 0, ""));
    assertRefused(() -> encoded("GET", "", none, 0, ""));
    assertRefused(() -> encoded("GET", "*", none, 0, ""));
    assertRefused(() -> encoded("GET", "http://other/", none, 0, ""));
    assertRefused(() -> encoded("GET", "/a b", none, 0, ""));
    assertRefused(() -> encoded("GET", "/", Headers.of("", "x"), 0, ""));
    assertRefused(() -> encoded("GET", "/", Headers.of("a b", "x"), 0, ""));
  }

  private static void assertRefused(Runnable encoding) {
    assertThatThrownBy(encoding::run)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("(expected: ");
  }
}

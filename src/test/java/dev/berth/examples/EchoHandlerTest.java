package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeParent;
import io.vertx.core.buffer.Buffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EchoHandlerTest {
  private final EchoHandler handler = new EchoHandler();

  @ParameterizedTest
  @ValueSource(strings = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
  void anyMethodGetsItsBodyAndContentTypeBack(String method) {
    Buffer body = Buffer.buffer(new byte[] {0, 1, -1});
    Headers headers = Headers.of("Content-Type", "text/weird; charset=x");
    Request request = Request.of(method, "/echo", null, headers, body);
    Response response = Answers.of(handler.handle(request, new FakeParent()));
    assertThat(response.status()).isEqualTo(200);
    assertThat(response.headers().get("content-type")).isEqualTo("text/weird; charset=x");
    assertThat(Answers.body(response)).isEqualTo(body);
  }

  @Test
  void aBodyWithoutContentTypeIsBytes() {
    Response response = Answers.of(handler.handle(Request.get("/echo"), new FakeParent()));
    assertThat(response.headers().get("content-type")).isEqualTo("application/octet-stream");
    assertThat(Answers.body(response).length()).isZero();
  }
}

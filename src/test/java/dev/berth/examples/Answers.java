package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;

/** Requests to the examples, and what they answered. */
final class Answers {
  private Answers() {}

  static Request post(String contentType, Buffer body) {
    return Request.of("POST", "/", null, Headers.of("content-type", contentType), body);
  }

  /** The response of a future that must have one by now. */
  static Response of(Future<Response> future) {
    assertThat(future.succeeded()).as("answered").isTrue();
    return future.result();
  }

  static Buffer body(Response response) {
    return ((Response.Body.Whole) response.body()).bytes();
  }

  static void assertRefused(
      Response response, int status, String field, String value, String expected) {
    assertThat(response.status()).isEqualTo(status);
    assertThat(response.headers().get("content-type")).isEqualTo("application/json");
    JsonObject error = body(response).toJsonObject();
    assertThat(error.getString("field")).isEqualTo(field);
    assertThat(error.getString("value")).isEqualTo(value);
    assertThat(error.getString("expected")).isEqualTo(expected);
    assertThat(error.getString("message"))
        .isEqualTo(field + ": " + value + " (expected: " + expected + ")");
  }
}

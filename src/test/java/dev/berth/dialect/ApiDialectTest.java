package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.protocol.port.HttpErrorResponse;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ApiDialectTest {
  private static final HttpErrorResponse LOST =
      HttpErrorResponse.of(BerthException.Kind.OUTCOME_UNKNOWN);
  private static final String LOST_WORDS =
      "The replica or its upstream was lost before it responded. "
          + "The request may have run; send it again only if that does no harm.";

  @ParameterizedTest
  @CsvSource({
    "/v1/chat/completions, false, OPENAI",
    "/v1/chat/completions, true, OPENAI",
    "/v1/responses/resp_1, true, OPENAI",
    "/v1/messages, false, ANTHROPIC",
    "/v1/messages/count_tokens, false, ANTHROPIC",
    "/v1/messages/batches, false, ANTHROPIC",
    "/v1/messagesque, false, OPENAI",
    "/v1/models, false, OPENAI",
    "/v1/models, true, ANTHROPIC",
    "/v1/models/smol, true, ANTHROPIC",
    "/v1/audio/speech, false, OPENAI",
    "/v1/audio/speech, true, ANTHROPIC"
  })
  void pathAndHeaderDecideTheDialect(String path, boolean versioned, ApiDialect dialect) {
    assertThat(ApiDialect.of(path, versioned)).isSameAs(dialect);
  }

  @Test
  void openAiErrorHasFourMembers() {
    Buffer body = ApiDialect.OPENAI.errorBody(LOST, null, "req-1");

    assertThat(body.toString())
        .isEqualTo(
            "{\"error\":{\"message\":\""
                + LOST_WORDS
                + "\",\"type\":\"server_error\",\"param\":null,\"code\":\"outcome_unknown\"}}");
  }

  @Test
  void openAiErrorNamesTheParameter() {
    DialectProblem problem =
        new DialectProblem(404, "model_not_found", "model: \"x\" is unknown", "model");

    JsonObject error =
        ApiDialect.OPENAI
            .errorBody(problem.response(), problem.param(), "req-1")
            .toJsonObject()
            .getJsonObject("error");

    assertThat(error.getString("message"))
        .isEqualTo("model: \"x\" is unknown The request did not run.");
    assertThat(error.getString("param")).isEqualTo("model");
    assertThat(error.getString("code")).isEqualTo("model_not_found");
    assertThat(error.getString("type")).isEqualTo("invalid_request_error");
  }

  @Test
  void anthropicErrorHasTypeMessageAndRequestId() {
    Buffer body = ApiDialect.ANTHROPIC.errorBody(LOST, "model", "req-1");

    assertThat(body.toString())
        .isEqualTo(
            "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\""
                + LOST_WORDS
                + "\"},\"request_id\":\"req-1\"}");
  }

  @ParameterizedTest
  @CsvSource({
    "400, invalid_request_error, invalid_request_error",
    "401, invalid_request_error, authentication_error",
    "403, invalid_request_error, permission_error",
    "404, invalid_request_error, not_found_error",
    "405, invalid_request_error, invalid_request_error",
    "408, server_error, timeout_error",
    "413, invalid_request_error, request_too_large",
    "415, invalid_request_error, invalid_request_error",
    "429, rate_limit_error, rate_limit_error",
    "500, server_error, api_error",
    "502, server_error, api_error",
    "503, service_unavailable_error, overloaded_error",
    "504, server_error, timeout_error",
    "508, server_error, api_error",
    "529, server_error, overloaded_error"
  })
  void statusDecidesTheType(int status, String openAi, String anthropic) {
    HttpErrorResponse failure = LOST.as(status);

    assertThat(errorOf(ApiDialect.OPENAI.errorBody(failure, null, "r")).getString("type"))
        .isEqualTo(openAi);
    assertThat(errorOf(ApiDialect.ANTHROPIC.errorBody(failure, null, "r")).getString("type"))
        .isEqualTo(anthropic);
  }

  @ParameterizedTest
  @EnumSource(
      value = DialectCall.class,
      names = {"CHAT", "COMPLETIONS"})
  void chatStreamEndsWithUnnamedErrorData(DialectCall call) {
    String event = ApiDialect.errorEvent(call, LOST, "req-1", 7).toString();

    assertThat(event).startsWith("data: {\"error\":{\"message\":\"The replica").endsWith("}}\n\n");
    assertThat(data(event)).isEqualTo(ApiDialect.OPENAI.errorBody(LOST, null, "r").toJsonObject());
  }

  @Test
  void anthropicStreamEndsWithNamedErrorEvent() {
    String event = ApiDialect.errorEvent(DialectCall.MESSAGES, LOST, "req-1", 7).toString();

    assertThat(event).startsWith("event: error\ndata: {\"type\":\"error\",").endsWith("\"}\n\n");
    assertThat(data(event))
        .isEqualTo(ApiDialect.ANTHROPIC.errorBody(LOST, null, "req-1").toJsonObject());
  }

  /** The documented members stand at the top level; clients raise the error for the nested one. */
  @Test
  void responsesStreamEndsWithBothFormsOfItsError() {
    String event = ApiDialect.errorEvent(DialectCall.RESPONSES, LOST, "req-1", 7).toString();

    assertThat(event).startsWith("event: error\ndata: {\"type\":\"error\",").endsWith("}}\n\n");
    assertThat(data(event))
        .isEqualTo(
            new JsonObject()
                .put("type", "error")
                .put("code", "outcome_unknown")
                .put("message", LOST_WORDS)
                .putNull("param")
                .put("sequence_number", 7)
                .put("error", errorOf(ApiDialect.OPENAI.errorBody(LOST, null, "r"))));
  }

  /** A line break would split the event. */
  @Test
  void lineBreaksInWordsDoNotSplitTheEvent() {
    HttpErrorResponse failure = LOST.saying("line 1\nline 2\r\n\r\nline 3");

    String event = ApiDialect.errorEvent(DialectCall.CHAT, failure, "req-1", 0).toString();

    assertThat(event.lines().filter(line -> !line.isEmpty())).hasSize(1);
    assertThat(event).doesNotContain("\r");
  }

  private static JsonObject errorOf(Buffer body) {
    return body.toJsonObject().getJsonObject("error");
  }

  private static JsonObject data(String event) {
    return new JsonObject(event.substring(event.indexOf("data: ") + 6).strip());
  }
}

package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DialectCallTest {

  @ParameterizedTest
  @CsvSource({
    "/v1/models, MODELS",
    "/v1/models/smol, MODEL",
    "/v1/models/HuggingFaceTB%2FSmolLM2, MODEL",
    "/v1/models/HuggingFaceTB/SmolLM2, MODEL",
    "/v1/chat/completions, CHAT",
    "/v1/completions, COMPLETIONS",
    "/v1/embeddings, EMBEDDINGS",
    "/v1/responses, RESPONSES",
    "/v1/responses/resp_67ccd2bed1ec8190b14f964abc054267, STORED_RESPONSE",
    "/v1/messages, MESSAGES",
    "/v1/messages/count_tokens, COUNT_TOKENS"
  })
  void pathNamesItsOperation(String path, DialectCall call) {
    assertThat(DialectCall.of(path)).isSameAs(call);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "/",
        "/v1",
        "/v1/",
        "/v1/models/",
        "/v1/chat/completions/",
        "/v1/Chat/completions",
        "/v1//embeddings",
        "/v1/audio/speech",
        "/v2/models",
        "/v1/messages/batches",
        "/v1/responses/",
        "/v1/responses/.",
        "/v1/responses/..",
        "/v1/responses/%2e%2e",
        "/v1/responses/resp_1/cancel",
        "/v1/responses/resp_1;x"
      })
  void otherPathsNameNone(String path) {
    assertThat(DialectCall.of(path)).isNull();
  }

  @Test
  void storedResponseIdsAreBounded() {
    assertThat(DialectCall.of("/v1/responses/" + "r".repeat(256))).isNotNull();
    assertThat(DialectCall.of("/v1/responses/" + "r".repeat(257))).isNull();
  }

  @Test
  void operationAcceptsItsMethodsOnly() {
    assertThat(DialectCall.CHAT.accepts("POST")).isTrue();
    assertThat(DialectCall.CHAT.accepts("GET")).isFalse();
    assertThat(DialectCall.MODELS.accepts("GET")).isTrue();
    assertThat(DialectCall.MODELS.accepts("get")).isFalse();
    assertThat(DialectCall.CHAT.allow()).isEqualTo("POST");
    assertThat(DialectCall.STORED_RESPONSE.allow()).isEqualTo("GET, DELETE");
    assertThat(DialectCall.STORED_RESPONSE.accepts("DELETE")).isTrue();
  }

  @Test
  void modelPathCarriesTheModel() {
    assertThat(DialectCall.modelOf("/v1/models/HuggingFaceTB%2FSmolLM2"))
        .isEqualTo("HuggingFaceTB%2FSmolLM2");
  }

  @Test
  void operationsWithABodyReadTheModel() {
    assertThat(DialectCall.values())
        .filteredOn(DialectCall::readsModel)
        .containsExactly(
            DialectCall.CHAT,
            DialectCall.COMPLETIONS,
            DialectCall.EMBEDDINGS,
            DialectCall.RESPONSES,
            DialectCall.MESSAGES,
            DialectCall.COUNT_TOKENS);
  }
}

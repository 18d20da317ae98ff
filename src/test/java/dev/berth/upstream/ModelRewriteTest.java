package dev.berth.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ModelRewriteTest {
  private static final DeploymentId CHAT = new DeploymentId("a", "chat");
  private static final String BODY = "{\"model\":\"smol\",\"n\":1}";
  private static final String RANGE = "10-14";

  private static @Nullable ModelRewrite rewrite(
      String header, @Nullable String model, long length) {
    return ModelRewrite.of(
        Headers.of("x-berth-model", header),
        CHAT,
        RelayHeadersTest.settings("", "", true, model, Set.of(), Headers.empty()),
        length);
  }

  private static String pass(ModelRewrite rewrite, String body, int... ends) {
    Buffer all = Buffer.buffer();
    int from = 0;
    for (int end : ends) {
      Buffer part = Buffer.buffer("?" + body.substring(from, end)).slice(1, end - from + 1);
      assertThat(rewrite.fits(part)).as("fits at %s", from).isTrue();
      all.appendBuffer(rewrite.pass(part));
      from = end;
    }
    return all.toString();
  }

  @ParameterizedTest
  @CsvSource({
    "';chat=llama-3', , llama-3",
    "';chat=llama-3', own, own",
    "';other=x;chat=y', , y",
    "';chat=y;other=x', , y",
    "';other=x', own, own",
    "'', own, own",
    "';chat=a=b', , a=b"
  })
  void nameOfTheUpstreamComesBeforeThatOfTheDeployment(
      String parts, @Nullable String model, String name) {
    ModelRewrite change = Objects.requireNonNull(rewrite(RANGE + parts, model, BODY.length()));
    assertThat(pass(change, BODY, BODY.length())).isEqualTo(BODY.replace("smol", name));
    assertThat(change.growth()).isEqualTo(name.length() - 4);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "10-14;other=x",
        "10-14",
        "x",
        "14-10;chat=x",
        "0-4;chat=x",
        "10-14x;chat=y",
        "10-9999999999;chat=y",
        "10-22;chat=y",
        "10-10;chat=y"
      })
  void bodyWithoutAFittingPlaceOrNameIsUnchanged(String header) {
    assertThat(rewrite(header, null, BODY.length())).isNull();
  }

  @Test
  void proxyIgnoresTheHeader() {
    assertThat(
            ModelRewrite.of(
                Headers.of("x-berth-model", "10-14;chat=x"),
                CHAT,
                RelayHeadersTest.settings("", "", false, "own", Set.of(), Headers.empty()),
                BODY.length()))
        .isNull();
  }

  @ParameterizedTest
  @ValueSource(strings = {"9-14;chat=x", "10-13;chat=x", "3-6;chat=x", "16-19;chat=x"})
  void placeNotBetweenQuotesDoesNotFit(String header) {
    ModelRewrite change = Objects.requireNonNull(rewrite(header, null, BODY.length()));
    assertThat(change.fits(Buffer.buffer(BODY))).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"llama-3.1-8b-instruct", "a"})
  void bodyIsTheSameHoweverItIsSplit(String name) {
    String expected = BODY.replace("smol", name);
    for (int first = 0; first <= BODY.length(); first++) {
      for (int second = first; second <= BODY.length(); second++) {
        ModelRewrite change = Objects.requireNonNull(rewrite("10-14;chat=" + name, null, -1));
        assertThat(pass(change, BODY, first, second, BODY.length())).isEqualTo(expected);
      }
    }
  }

  @Test
  void placeInLaterPartsIsVerifiedThere() {
    ModelRewrite change = Objects.requireNonNull(rewrite("10-13;chat=x", null, -1));
    assertThat(pass(change, BODY, 12)).isEqualTo("{\"model\":\"x");
    assertThat(change.fits(Buffer.buffer(BODY.substring(12)))).isFalse();
  }

  @Test
  void bytesOfALargeBodyAreNeitherCopiedNorChanged() {
    String rest = "x".repeat(70_000);
    Buffer body = Buffer.buffer(BODY + rest);
    ModelRewrite change = Objects.requireNonNull(rewrite("10-14;chat=other", null, body.length()));
    Buffer sent = change.pass(body);
    body.setString(2, "MODEL");
    assertThat(sent.toString()).isEqualTo("{\"MODEL\":\"other\",\"n\":1}" + rest);
    assertThat(body.toString()).contains("smol");
    assertThat(((BufferInternal) sent).getByteBuf().readableBytes()).isEqualTo(sent.length());
  }
}

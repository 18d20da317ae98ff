package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;

class ClassificationTest {
  private static final float[] SEVEN = {0, 0, 0, 0, 0, 0, 0.25f, 0.5f, 0.25f, 0};

  @Test
  void theLikeliestDigitIsTheAnswer() {
    Classification read = Classification.of(SEVEN);
    assertThat(read.digit()).isEqualTo(7);
    assertThat(read.confidence()).isEqualTo(0.5f);
  }

  @Test
  void ofTwoAsLikelyTheLowerIsTheAnswer() {
    assertThat(Classification.of(new float[] {0, 0.5f, 0.5f}).digit()).isEqualTo(1);
  }

  @Test
  void itsJsonHasTheProbabilityOfEachDigit() {
    JsonObject json = new JsonObject(Classification.of(SEVEN).toJson());
    assertThat(json.getInteger("digit")).isEqualTo(7);
    assertThat(json.getDouble("confidence")).isEqualTo(0.5);
    assertThat(json.getJsonArray("probabilities")).hasSize(10);
    assertThat(json.getJsonArray("probabilities").getDouble(6)).isEqualTo(0.25);
  }
}

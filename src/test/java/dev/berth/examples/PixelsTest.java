package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PixelsTest {
  private static final String SHAPE = "64 numbers, or 8 rows of 8 numbers";

  @Test
  void flatNestedAndNamedArraysAreTheSamePixels() throws BadInput {
    float[] counted = new float[64];
    JsonArray flat = new JsonArray();
    JsonArray nested = new JsonArray();
    for (int y = 0; y < 8; y++) {
      JsonArray row = new JsonArray();
      for (int x = 0; x < 8; x++) {
        float value = (y * 8 + x) / 4f;
        counted[y * 8 + x] = value;
        flat.add(value);
        row.add(value);
      }
      nested.add(row);
    }
    assertThat(Pixels.fromJson(flat.toBuffer()).values()).containsExactly(counted);
    assertThat(Pixels.fromJson(nested.toBuffer()).values()).containsExactly(counted);
    assertThat(Pixels.fromJson(new JsonObject().put("pixels", flat).toBuffer()).values())
        .containsExactly(counted);
  }

  @Test
  void theLimitsOfAPixelAreWithinIt() throws BadInput {
    assertThat(Pixels.fromJson(flat(0)).values()).containsOnly(0);
    assertThat(Pixels.fromJson(flat(16)).values()).containsOnly(16);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "17|17.0",
        "-1|-1.0",
        "16.01|16.01",
        "1e300|Infinity",
        "\"7\"|7",
        "null|absent",
        "true|true",
        "[1]|[1]"
      })
  void aPixelOutOfRangeOrOfAnotherTypeIsNamed(String json, String told) {
    String array = "[" + "0,".repeat(63) + json + "]";
    assertRefused(array, "pixels[63]: " + told + " (expected: a number from 0 to 16)");
    String rows = "[" + "[0,0,0,0,0,0,0,0],".repeat(7) + "[0,0," + json + ",0,0,0,0,0]]";
    assertRefused(rows, "pixels[7][2]: " + told + " (expected: a number from 0 to 16)");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[]|pixels: an array of 0",
        "[1,2]|pixels: an array of 2",
        "{}|pixels: absent",
        "{\"pixels\":\"a\"}|pixels: a",
        "7|pixels: 7",
        "null|pixels: absent"
      })
  void anotherShapeIsRefused(String json, String told) {
    assertRefused(json, told + " (expected: " + SHAPE + ")");
  }

  @Test
  void aRowOfAnotherLengthIsNamed() {
    String rows = "[[0,0,0],".concat("[0,0,0,0,0,0,0,0],".repeat(6)).concat("[0,0,0,0,0,0,0,0]]");
    assertRefused(rows, "pixels[0]: 3 numbers (expected: a row of 8 numbers)");
    assertRefused("[1,2,3,4,5,6,7,8]", "pixels[0]: 1 (expected: a row of 8 numbers)");
  }

  @Test
  void whatIsNotJsonIsRefusedAndRepeatedOnlyInPart() {
    assertRefused("[1,2", "body: [1,2 (expected: JSON: " + SHAPE + ")");
    assertRefused("", "body:  (expected: JSON: " + SHAPE + ")");
    String longText = "x".repeat(10_000);
    assertRefused(
        longText,
        "body: " + "x".repeat(BadInput.VALUE_CHARS_MAX) + "… (expected: JSON: " + SHAPE + ")");
  }

  @Test
  void pixelsSurviveTheWayBetweenDeployments() throws BadInput {
    float[] values = new float[64];
    for (int i = 0; i < 64; i++) {
      values[i] = 16f / 63 * i;
    }
    assertThat(Pixels.fromBuffer(Pixels.of(values).toBuffer()).values()).containsExactly(values);
  }

  @Test
  void aBufferOfAnotherLengthOrWithoutNumbersIsRefused() throws BadInput {
    assertThatThrownBy(() -> Pixels.fromBuffer(Buffer.buffer(new byte[255])))
        .isInstanceOf(BadInput.class)
        .hasMessage("body: 255 bytes (expected: 256 bytes)");
    Buffer notANumber = Pixels.fromJson(flat(1)).toBuffer().setFloat(8, Float.NaN);
    assertThatThrownBy(() -> Pixels.fromBuffer(notANumber))
        .isInstanceOf(BadInput.class)
        .hasMessage("pixels[2]: NaN (expected: a number from 0 to 16)");
  }

  private static Buffer flat(int value) {
    JsonArray array = new JsonArray();
    for (int i = 0; i < 64; i++) {
      array.add(value);
    }
    return array.toBuffer();
  }

  private static void assertRefused(String json, String message) {
    assertThatThrownBy(() -> Pixels.fromJson(Buffer.buffer(json)))
        .isInstanceOf(BadInput.class)
        .hasMessage(message);
  }
}

package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.offset;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OrtException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Beside the digits a model of two inputs that share their rows: {@code weigh.onnx} multiplies each
 * row of {@code x}: FP32[N, 3] by its {@code weight}: INT64[N].
 */
class OnnxModelTest {
  @AutoClose private static OnnxModel digits;
  @AutoClose private static OnnxModel weigh;

  @BeforeAll
  static void load() throws Exception {
    digits = OnnxModel.load(DigitsHandler.digits(), 1);
    weigh = OnnxModel.load(weigh(), 1);
  }

  static byte[] weigh() throws IOException {
    try (InputStream in = OnnxModelTest.class.getResourceAsStream("weigh.onnx")) {
      return in.readAllBytes();
    }
  }

  private static Map<String, Tensor> pixels(Pixels pixels) {
    return Map.of("pixels", Tensor.of(pixels.values(), 1, Pixels.COUNT));
  }

  private static float[] probabilities(OnnxModel model, Pixels pixels) throws OrtException {
    return model.run(pixels(pixels)).get("probabilities").floats();
  }

  private static Tensor weights(long... values) throws BadInput {
    JsonArray data = new JsonArray();
    Arrays.stream(values).forEach(data::add);
    return Tensor.fromJson(
        "weight",
        new JsonObject()
            .put("datatype", "INT64")
            .put("shape", new JsonArray().add(values.length))
            .put("data", data));
  }

  private static void refuses(OnnxModel model, Map<String, Tensor> given, String why) {
    assertThatThrownBy(() -> model.check(given)).isInstanceOf(BadInput.class).hasMessage(why);
  }

  @Test
  void readsAtLeast95OfThe100HeldOutImages() throws Exception {
    List<Path> images = HeldOutImages.all();
    assertThat(images.stream().collect(Collectors.groupingBy(HeldOutImages::label)))
        .hasSize(10)
        .allSatisfy((digit, ofDigit) -> assertThat(ofDigit).hasSize(10));
    List<String> misread = new ArrayList<>();
    for (Path image : images) {
      Pixels pixels = PngPixels.decode(Files.readAllBytes(image));
      int digit = Classification.of(probabilities(digits, pixels)).digit();
      if (digit != HeldOutImages.label(image)) {
        misread.add(image.getFileName() + " as " + digit);
      }
    }
    System.out.printf("digits: %d of 100 right, misread %s%n", 100 - misread.size(), misread);
    assertThat(misread).hasSizeLessThanOrEqualTo(5);
  }

  @Test
  void theProbabilitiesOfTheTenDigitsAddUpToOne() throws Exception {
    float[] probabilities = probabilities(digits, PngPixels.decode(HeldOutImages.read("7-3.png")));
    assertThat(probabilities).hasSize(10);
    double sum = 0;
    for (float probability : probabilities) {
      assertThat(probability).isBetween(0f, 1f);
      sum += probability;
    }
    assertThat(sum).isEqualTo(1, offset(1e-5));
  }

  @Test
  void twoModelsCloseEachForItself() throws Exception {
    Pixels pixels = PngPixels.decode(HeldOutImages.read("7-3.png"));
    OnnxModel first = OnnxModel.load(DigitsHandler.digits(), 1);
    float[] expected = probabilities(first, pixels);
    first.close();
    assertThat(probabilities(digits, pixels)).containsExactly(expected);
    assertThatThrownBy(() -> probabilities(first, pixels))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void whatItTakesIsNamedWithTypeAndShape() throws Exception {
    Tensor x = Tensor.of(new float[6], 2, 3);
    refuses(weigh, Map.of("x", x), "inputs: [x] (expected: x: FP32[N, 3], weight: INT64[N])");
    refuses(digits, Map.of("pixel", x), "inputs: [pixel] (expected: pixels: FP32[any, 64])");
    refuses(digits, Map.of("pixels", x), "pixels: FP32[2, 3] (expected: FP32[any, 64])");
    refuses(
        digits,
        Map.of("pixels", Tensor.of(new float[64], 64)),
        "pixels: FP32[64] (expected: FP32[any, 64])");
    refuses(
        digits,
        Map.of("pixels", Tensor.zeros(OnnxJavaType.DOUBLE, new long[] {1, 64})),
        "pixels: FP64[1, 64] (expected: FP32[any, 64])");
    refuses(
        digits,
        Map.of("pixels", Tensor.of(new float[0], 0, 64)),
        "pixels: FP32[0, 64] (expected: FP32[any, 64])");
  }

  @Test
  void rowsThatTwoInputsShareAreEqual() throws Exception {
    Tensor x = Tensor.of(new float[] {1, 2, 3, 4, 5, 6}, 2, 3);
    refuses(
        weigh,
        Map.of("x", x, "weight", weights(7)),
        "weight: INT64[1] (expected: INT64[N] where {N=2})");
    Map<String, Tensor> fit = Map.of("x", x, "weight", weights(10, -1));
    weigh.check(fit);
    assertThat(weigh.run(fit).get("y").floats()).containsExactly(10, 20, 30, -4, -5, -6);
  }

  @Test
  void aBatchAnswersEachRequestWithItsOwnRows() throws Exception {
    List<Map<String, Tensor>> requests =
        List.of(
            Map.of("x", Tensor.of(new float[] {1, 2, 3}, 1, 3), "weight", weights(2)),
            Map.of("x", Tensor.of(new float[] {1, 1, 1, 2, 2, 2}, 2, 3), "weight", weights(3, 4)),
            Map.of("x", Tensor.of(new float[] {9, 9, 9}, 1, 3), "weight", weights(0)));
    List<Map<String, Tensor>> together = weigh.runAll(requests);
    assertThat(together).hasSize(3);
    for (int i = 0; i < 3; i++) {
      Tensor alone = weigh.run(requests.get(i)).get("y");
      assertThat(together.get(i).get("y").floats()).containsExactly(alone.floats());
      assertThat(together.get(i).get("y").shape()).containsExactly(alone.shape());
    }
    assertThat(weigh.runAll(List.of())).isEmpty();
    assertThat(weigh.runAll(requests.subList(0, 1))).hasSize(1);
  }

  @Test
  void aBatchOfDigitsGivesEachItsOwn() throws Exception {
    List<Map<String, Tensor>> requests = new ArrayList<>();
    for (String image : List.of("7-3.png", "3-1.png", "0-0.png")) {
      requests.add(pixels(PngPixels.decode(HeldOutImages.read(image))));
    }
    List<Integer> read = new ArrayList<>();
    for (Map<String, Tensor> each : digits.runAll(requests)) {
      read.add(Classification.of(each.get("probabilities").floats()).digit());
    }
    assertThat(read).containsExactly(7, 3, 0);
  }

  @Test
  void itRunsOnNothingBeforeTheFirstRequest() throws Exception {
    weigh.warmUp();
    digits.warmUp();
  }

  /** Native code that is closed under a run ends the process. */
  @Test
  void closingWaitsForTheRunsUnderWay() throws Exception {
    OnnxModel model = OnnxModel.load(DigitsHandler.digits(), 1);
    Map<String, Tensor> many = Map.of("pixels", Tensor.of(new float[64 * 20_000], 20_000, 64));
    ExecutorService runners = Executors.newFixedThreadPool(2);
    CountDownLatch begun = new CountDownLatch(2);
    List<Future<Integer>> runs = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      runs.add(
          runners.submit(
              () -> {
                for (int ended = 0; ; ended++) {
                  try {
                    model.run(many);
                    begun.countDown();
                  } catch (IllegalStateException closed) {
                    return ended;
                  }
                }
              }));
    }
    assertThat(begun.await(20, TimeUnit.SECONDS)).isTrue();
    model.close();
    for (Future<Integer> run : runs) {
      assertThat(run.get(20, TimeUnit.SECONDS)).isPositive();
    }
    runners.shutdown();
  }

  @Test
  void whatIsNoModelIsNone() {
    assertThatThrownBy(() -> OnnxModel.load(new byte[] {1, 2, 3}, 1))
        .isInstanceOf(OrtException.class);
  }
}

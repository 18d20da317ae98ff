package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.offset;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class DigitsModelTest {

  @Test
  void readsAtLeast95OfThe100HeldOutImages() throws Exception {
    List<Path> images = HeldOutImages.all();
    assertThat(images.stream().collect(Collectors.groupingBy(HeldOutImages::label)))
        .hasSize(10)
        .allSatisfy((digit, ofDigit) -> assertThat(ofDigit).hasSize(10));
    List<String> misread = new ArrayList<>();
    try (DigitsModel model = DigitsModel.load()) {
      for (Path image : images) {
        Pixels pixels = PngPixels.decode(Files.readAllBytes(image));
        int digit = Classification.of(model.classify(pixels)).digit();
        if (digit != HeldOutImages.label(image)) {
          misread.add(image.getFileName() + " as " + digit);
        }
      }
    }
    System.out.printf("digits: %d of 100 right, misread %s%n", 100 - misread.size(), misread);
    assertThat(misread).hasSizeLessThanOrEqualTo(5);
  }

  @Test
  void theProbabilitiesOfTheTenDigitsAddUpToOne() throws Exception {
    try (DigitsModel model = DigitsModel.load()) {
      float[] probabilities = model.classify(PngPixels.decode(HeldOutImages.read("7-3.png")));
      assertThat(probabilities).hasSize(10);
      double sum = 0;
      for (float probability : probabilities) {
        assertThat(probability).isBetween(0f, 1f);
        sum += probability;
      }
      assertThat(sum).isEqualTo(1, offset(1e-5));
    }
  }

  @Test
  void twoModelsCloseEachForItself() throws Exception {
    Pixels pixels = PngPixels.decode(HeldOutImages.read("7-3.png"));
    DigitsModel first = DigitsModel.load();
    try (DigitsModel second = DigitsModel.load()) {
      float[] expected = first.classify(pixels);
      first.close();
      assertThat(second.classify(pixels)).containsExactly(expected);
      assertThatThrownBy(() -> first.classify(pixels)).isInstanceOf(IllegalStateException.class);
    }
  }
}

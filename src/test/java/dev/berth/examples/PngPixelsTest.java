package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PngPixelsTest {
  /** Every pixel value, three times or more. */
  private static final float[] EVERY_VALUE = everyValue();

  @Test
  void theGraysOfTheTrainingScriptMapBackToTheirPixels() throws Exception {
    assertThat(PngPixels.decode(png(gray(EVERY_VALUE, 1))).values()).containsExactly(EVERY_VALUE);
  }

  @ParameterizedTest
  @ValueSource(
      ints = {
        BufferedImage.TYPE_INT_RGB,
        BufferedImage.TYPE_INT_ARGB,
        BufferedImage.TYPE_3BYTE_BGR,
        BufferedImage.TYPE_USHORT_GRAY
      })
  void theKindOfPngMakesNoDifference(int type) throws Exception {
    BufferedImage gray = gray(EVERY_VALUE, 1);
    BufferedImage image = new BufferedImage(8, 8, type);
    for (int y = 0; y < 8; y++) {
      for (int x = 0; x < 8; x++) {
        int sample = gray.getRaster().getSample(x, y, 0);
        if (type == BufferedImage.TYPE_USHORT_GRAY) {
          image.getRaster().setSample(x, y, 0, sample * 257);
        } else {
          image.setRGB(x, y, 0xff000000 | sample << 16 | sample << 8 | sample);
        }
      }
    }
    assertThat(PngPixels.decode(png(image)).values()).containsExactly(EVERY_VALUE);
  }

  @Test
  void anImageOfTwoColoursIsReadByItsPalette() throws Exception {
    BufferedImage image = new BufferedImage(8, 8, BufferedImage.TYPE_BYTE_BINARY);
    image.setRGB(3, 0, Color.WHITE.getRGB());
    float[] expected = new float[64];
    expected[3] = 16;
    assertThat(PngPixels.decode(png(image)).values()).containsExactly(expected);
  }

  @Test
  void whatIsTransparentIsDark() throws Exception {
    BufferedImage image = new BufferedImage(8, 8, BufferedImage.TYPE_INT_ARGB);
    image.setRGB(0, 0, 0xffffffff);
    image.setRGB(1, 0, 0x80ffffff);
    image.setRGB(2, 0, 0x00ffffff);
    assertThat(Arrays.copyOf(PngPixels.decode(png(image)).values(), 4))
        .containsExactly(16, 8, 0, 0);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 7, 28})
  void aLargerImageIsReadAsTheSmallOneItIsMadeOf(int times) throws Exception {
    assertThat(PngPixels.decode(png(gray(EVERY_VALUE, times))).values())
        .containsExactly(EVERY_VALUE);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void eachCellIsTheMeanOfWhatItCovers(long seed) throws Exception {
    Random random = new Random(seed);
    int width = 1 + random.nextInt(40);
    int height = 1 + random.nextInt(40);
    BufferedImage image = new BufferedImage(width, height, BufferedImage.TYPE_BYTE_GRAY);
    // The same image eight times as large each way has cells of whole pixels, so its means are
    // sums.
    double[] sums = new double[64];
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        int sample = random.nextInt(256);
        image.getRaster().setSample(x, y, 0, sample);
        for (int fine = 0; fine < 64; fine++) {
          int cellX = (x * 8 + fine % 8) / width;
          int cellY = (y * 8 + fine / 8) / height;
          sums[cellY * 8 + cellX] += sample;
        }
      }
    }
    float[] values = PngPixels.decode(png(image)).values();
    for (int i = 0; i < 64; i++) {
      double mean = sums[i] / (width * height) * 16 / 255;
      assertThat((double) values[i])
          .as("cell %d of %d by %d, seed %d", i, width, height, seed)
          .isBetween(mean - 0.5001, mean + 0.5001);
    }
  }

  @Test
  void aPageFullOfInkIsFullAndNoMore() throws Exception {
    BufferedImage image = new BufferedImage(13, 11, BufferedImage.TYPE_INT_RGB);
    Graphics2D pen = image.createGraphics();
    pen.setColor(Color.WHITE);
    pen.fillRect(0, 0, 13, 11);
    pen.dispose();
    assertThat(PngPixels.decode(png(image)).values()).containsOnly(16);
  }

  @Test
  void whatIsNotAPngIsRefused() {
    String expected = " (expected: a PNG image of at most 1000000 pixels)";
    byte[] gif = "GIF89a, and some more".getBytes(StandardCharsets.US_ASCII);
    assertRefused(gif, "body: 21 bytes without a PNG signature" + expected);
    assertRefused(new byte[0], "body: 0 bytes without a PNG signature" + expected);
  }

  @Test
  void anImageOfTooManyPixelsIsRefused() throws IOException {
    byte[] tooLarge = png(new BufferedImage(1_001, 1_000, BufferedImage.TYPE_BYTE_BINARY));
    assertRefused(
        tooLarge,
        "body: an image of 1001 by 1000 (expected: a PNG image of at most 1000000 pixels)");
    byte[] largest = png(new BufferedImage(1_000, 1_000, BufferedImage.TYPE_BYTE_BINARY));
    assertThat(largest).hasSizeLessThan(64 * 1024);
    assertThat(decodes(largest)).isTrue();
  }

  @Test
  void aHeaderThatPromisesTooManyPixelsIsRefusedBeforeTheyAreDecoded() throws IOException {
    byte[] promise = png(gray(EVERY_VALUE, 1));
    promise[16] = 0x7f; // the width's highest byte
    assertThatThrownBy(() -> PngPixels.decode(promise)).isInstanceOf(BadInput.class);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void aBrokenPngIsReadOrRefusedAndNothingElse(long seed) throws IOException {
    Random random = new Random(seed);
    byte[] whole = png(gray(EVERY_VALUE, 3));
    int refused = 0;
    for (int i = 0; i < 300; i++) {
      byte[] broken = Arrays.copyOf(whole, 9 + random.nextInt(whole.length - 8));
      broken[8 + random.nextInt(broken.length - 8)] ^= (byte) (1 << random.nextInt(8));
      try {
        refused += decodes(broken) ? 0 : 1;
      } catch (RuntimeException escaped) {
        throw new AssertionError("seed " + seed + ", step " + i, escaped);
      }
    }
    assertThat(refused).as("refused of 300, seed %d", seed).isPositive();
  }

  private static boolean decodes(byte[] png) {
    try {
      PngPixels.decode(png);
      return true;
    } catch (BadInput refused) {
      return false;
    }
  }

  private static void assertRefused(byte[] bytes, String message) {
    assertThatThrownBy(() -> PngPixels.decode(bytes))
        .isInstanceOf(BadInput.class)
        .hasMessage(message);
  }

  private static float[] everyValue() {
    float[] values = new float[64];
    for (int i = 0; i < 64; i++) {
      values[i] = i * 5 % 17;
    }
    return values;
  }

  /** Pixels as the training script writes them, each {@code times} by {@code times} large. */
  private static BufferedImage gray(float[] pixels, int times) {
    BufferedImage image = new BufferedImage(8 * times, 8 * times, BufferedImage.TYPE_BYTE_GRAY);
    for (int y = 0; y < 8 * times; y++) {
      for (int x = 0; x < 8 * times; x++) {
        float pixel = pixels[y / times * 8 + x / times];
        image.getRaster().setSample(x, y, 0, Math.round(pixel * 255 / 16));
      }
    }
    return image;
  }

  private static byte[] png(BufferedImage image) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    assertThat(ImageIO.write(image, "png", out)).isTrue();
    return out.toByteArray();
  }
}

package dev.berth.examples;

import java.awt.image.BufferedImage;
import java.awt.image.IndexColorModel;
import java.awt.image.Raster;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Arrays;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;
import javax.imageio.stream.MemoryCacheImageInputStream;

/**
 * Converts a PNG to the model's input: light ink on a dark ground, the digit upright and filling
 * the image. An image of another size is reduced to 8 by 8 by the mean gray of each cell, as the
 * data set was from its 32 by 32 bitmaps. Transparent pixels are dark. Blocks: not for an event
 * loop.
 */
final class PngPixels {
  /** Maximum number of pixels of an image; larger images are rejected before they are decoded. */
  static final int IMAGE_PIXELS_MAX = 1_000_000;

  private static final byte[] SIGNATURE = {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  private static final String EXPECTED = "a PNG image of at most 1000000 pixels";

  private PngPixels() {}

  static Pixels decode(byte[] png) throws BadInput {
    int signed = SIGNATURE.length;
    if (png.length < signed || !Arrays.equals(png, 0, signed, SIGNATURE, 0, signed)) {
      throw new BadInput("body", png.length + " bytes without a PNG signature", EXPECTED);
    }
    return scaled(read(png));
  }

  private static BufferedImage read(byte[] png) throws BadInput {
    ImageReader reader = ImageIO.getImageReadersByFormatName("png").next();
    try (ImageInputStream input = new MemoryCacheImageInputStream(new ByteArrayInputStream(png))) {
      reader.setInput(input, true, true);
      int width = reader.getWidth(0);
      int height = reader.getHeight(0);
      if ((long) width * height > IMAGE_PIXELS_MAX) {
        throw new BadInput("body", "an image of " + width + " by " + height, EXPECTED);
      }
      return reader.read(0);
    } catch (IOException | RuntimeException broken) {
      // The reader throws unchecked exceptions of many types for some broken files.
      throw new BadInput("body", "a broken PNG of " + png.length + " bytes", EXPECTED);
    } finally {
      reader.dispose();
    }
  }

  private static Pixels scaled(BufferedImage image) throws BadInput {
    Grays grays = Grays.of(image);
    int width = image.getWidth();
    int height = image.getHeight();
    double[] cells = new double[Pixels.COUNT];
    double[] row = new double[width];
    double[] narrow = new double[Pixels.SIDE];
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        row[x] = grays.at(x, y);
      }
      Arrays.fill(narrow, 0);
      spread(row, narrow);
      addRow(narrow, y, height, cells);
    }
    float[] values = new float[Pixels.COUNT];
    for (int i = 0; i < values.length; i++) {
      // Whole numbers, as in the data set; an 8 by 8 image of the set maps back to exactly its
      // pixels.
      values[i] = Math.min(Pixels.MAX, Math.round(cells[i] * Pixels.MAX));
    }
    return Pixels.of(values);
  }

  /** Adds to each cell the mean of the samples that it covers, weighted by the covered share. */
  private static void spread(double[] samples, double[] cells) {
    double cellsPerSample = (double) cells.length / samples.length;
    for (int i = 0; i < samples.length; i++) {
      double from = i * cellsPerSample;
      double to = (i + 1) * cellsPerSample;
      for (int cell = (int) from; cell < cells.length && cell < to; cell++) {
        cells[cell] += samples[i] * overlap(from, to, cell);
      }
    }
  }

  /** Adds one row vertically, as {@link #spread} does, without an array of the whole image. */
  private static void addRow(double[] row, int y, int height, double[] cells) {
    double cellsPerRow = (double) Pixels.SIDE / height;
    double from = y * cellsPerRow;
    double to = (y + 1) * cellsPerRow;
    for (int cell = (int) from; cell < Pixels.SIDE && cell < to; cell++) {
      double share = overlap(from, to, cell);
      for (int x = 0; x < Pixels.SIDE; x++) {
        cells[cell * Pixels.SIDE + x] += row[x] * share;
      }
    }
  }

  private static double overlap(double from, double to, int cell) {
    return Math.max(0, Math.min(to, cell + 1) - Math.max(from, cell));
  }

  /** The gray of an image's pixels, from 0 (dark or transparent) to 1. */
  private interface Grays {
    double at(int x, int y);

    static Grays of(BufferedImage image) {
      boolean indexed = image.getColorModel() instanceof IndexColorModel;
      int bands = image.getRaster().getNumBands();
      if (indexed || bands > 2) {
        return (x, y) -> ofArgb(image.getRGB(x, y));
      }
      // BufferedImage.getRGB treats a gray image as linear light and would brighten it.
      Raster raster = image.getRaster();
      double full = (1 << raster.getSampleModel().getSampleSize(0)) - 1;
      return bands == 1
          ? (x, y) -> raster.getSample(x, y, 0) / full
          : (x, y) -> raster.getSample(x, y, 0) / full * (raster.getSample(x, y, 1) / full);
    }

    /** Returns the luma by ITU-R BT.601, over a dark ground. */
    private static double ofArgb(int argb) {
      int red = argb >> 16 & 0xff;
      int green = argb >> 8 & 0xff;
      int blue = argb & 0xff;
      double alpha = (argb >>> 24) / 255.0;
      return (0.299 * red + 0.587 * green + 0.114 * blue) / 255 * alpha;
    }
  }
}

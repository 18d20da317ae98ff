package dev.berth.view;

/**
 * Fill of batches.
 *
 * @param batches number of started batches
 * @param percents sum of their sizes, each in percent of its maximum
 */
public record BatchFill(long batches, double percents) {
  public static final BatchFill NONE = new BatchFill(0, 0);

  /** Returns the fill of these batches and others. */
  public BatchFill plus(BatchFill other) {
    return new BatchFill(batches + other.batches, percents + other.percents);
  }

  /** Returns the mean fill in percent, with one decimal place; 0 without batches. */
  public double meanPercent() {
    return batches == 0 ? 0 : Math.rint(10 * percents / batches) / 10;
  }
}

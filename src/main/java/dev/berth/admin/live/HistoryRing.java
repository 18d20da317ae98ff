package dev.berth.admin.live;

import java.util.Arrays;
import java.util.stream.LongStream;

/**
 * Ring buffer of rows, one per step of time, with 2 bytes per number. A number has 12 significant
 * bits, so whole numbers up to 4 096 are exact. It may be from 0 to 4 000 000, or missing (NaN).
 */
final class HistoryRing {
  private static final int MISSING = 0xFFFF;
  private static final int MIN_EXPONENT = 117 << 11; // 2^-10, in the cut form of a float

  final int stepS;
  final int length;
  private final int columns;
  private final short[] cells;
  private long newest = Long.MIN_VALUE; // number of the last step; 0 is that of 1970

  HistoryRing(int columns, int stepS, int length) {
    this.columns = columns;
    this.stepS = stepS;
    this.length = length;
    this.cells = new short[columns * length];
    Arrays.fill(cells, (short) MISSING);
  }

  /** Returns a copy that does not change. */
  HistoryRing copy() {
    HistoryRing made = new HistoryRing(columns, stepS, length);
    System.arraycopy(cells, 0, made.cells, 0, cells.length);
    made.newest = newest;
    return made;
  }

  /** Returns the number of the step that contains a time. */
  long stepOf(long ms) {
    return Math.floorDiv(ms, 1_000L * stepS);
  }

  /**
   * Stores the row of a step. Steps between the last one and this one are missing. If the clock was
   * set back, later steps are removed.
   */
  void put(long step, double[] row) {
    if (newest >= 0 && Math.abs(step - newest) >= length) {
      Arrays.fill(cells, (short) MISSING);
    } else if (newest >= 0) {
      remove(Math.min(newest, step) + 1, Math.max(newest + 1, step));
    }
    newest = step;
    for (int column = 0; column < columns; column++) {
      cells[place(step, column)] = (short) encode(row[column]);
    }
  }

  private void remove(long from, long to) {
    for (long step = from; step < to; step++) {
      int at = place(step, 0);
      Arrays.fill(cells, at, at + columns, (short) MISSING);
    }
  }

  /** Returns a number; NaN if it is missing. */
  double at(long step, int column) {
    return step > newest || step <= newest - length
        ? Double.NaN
        : decode(cells[place(step, column)]);
  }

  /** Returns the same rows with longer steps, each the mean of its parts. */
  HistoryRing coarser(int newStepS, int newLength) {
    HistoryRing made = new HistoryRing(columns, newStepS, newLength);
    int factor = newStepS / stepS;
    double[] row = new double[columns];
    for (long step = Math.floorDiv(newest - length + 1, (long) factor);
        newest >= 0 && step <= Math.floorDiv(newest, (long) factor);
        step++) {
      for (int column = 0; column < columns; column++) {
        row[column] = mean(step * factor, factor, column);
      }
      made.put(step, row);
    }
    return made;
  }

  private double mean(long from, int steps, int column) {
    return LongStream.range(from, from + steps)
        .mapToDouble(step -> at(step, column))
        .filter(value -> !Double.isNaN(value))
        .average()
        .orElse(Double.NaN);
  }

  private int place(long step, int column) {
    return (int) Math.floorMod(step, (long) length) * columns + column;
  }

  static int encode(double value) {
    if (Double.isNaN(value)) {
      return MISSING;
    }
    int cut = (Float.floatToRawIntBits((float) Math.max(0, value)) + (1 << 11) >>> 12);
    return Math.max(0, Math.min(MISSING - 1, cut - MIN_EXPONENT));
  }

  static double decode(short cell) {
    int code = cell & 0xFFFF;
    return code == MISSING
        ? Double.NaN
        : code == 0 ? 0 : Float.intBitsToFloat(code + MIN_EXPONENT << 12);
  }
}

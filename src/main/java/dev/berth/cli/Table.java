package dev.berth.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Table of cells, as aligned lines without control characters. */
final class Table {
  private final List<String[]> rows = new ArrayList<>();

  /**
   * @param head column names, {@code name | state}
   */
  Table(String head) {
    row((Object[]) head.split("\\|", -1));
  }

  /** Adds a row with a cell for each column. */
  void row(@Nullable Object... cells) {
    rows.add(Stream.of(cells).map(each -> oneLine(String.valueOf(each))).toArray(String[]::new));
  }

  /** Returns the lines; each column is as wide as its longest cell. */
  List<String> lines() {
    return lines(Integer.MAX_VALUE, (column, cell) -> cell);
  }

  /**
   * Returns the lines.
   *
   * @param mostWide maximum column width in characters; a longer cell shifts its line
   * @param paint returns the shown form of a cell, from the column's index and the cell
   */
  List<String> lines(int mostWide, BiFunction<Integer, String, String> paint) {
    int[] widths = new int[rows.get(0).length];
    for (String[] row : rows) {
      for (int i = 0; i < row.length; i++) {
        widths[i] = Math.max(widths[i], Math.min(row[i].length(), mostWide));
      }
    }
    List<String> lines = new ArrayList<>();
    for (String[] row : rows) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < row.length; i++) {
        String room = " ".repeat(Math.max(0, widths[i] - row[i].length()));
        boolean isNumber = row[i].matches("[0-9]+"); // numbers align at their last digit
        line.append(isNumber ? room : "").append(paint.apply(i, row[i]));
        line.append(isNumber ? "  " : room + "  ");
      }
      lines.add(line.toString().stripTrailing());
    }
    return lines;
  }

  /** Returns a text as one line without control characters. */
  static String oneLine(String text) {
    return AdminHttpClient.printable(text.strip().replaceAll("\\s*\\R\\s*", "; "));
  }
}

package dev.berth.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Rows of cells as aligned lines that no terminal obeys. */
final class Table {
  private final List<String[]> rows = new ArrayList<>();

  /**
   * @param head names of its columns, {@code name | state}
   */
  Table(String head) {
    row((Object[]) head.split("\\|", -1));
  }

  /** One more row, of as many cells. */
  void row(@Nullable Object... cells) {
    rows.add(Stream.of(cells).map(each -> oneLine(String.valueOf(each))).toArray(String[]::new));
  }

  /** Each column as wide as its longest cell; nothing is cut. */
  List<String> lines() {
    return lines(Integer.MAX_VALUE, (column, cell) -> cell);
  }

  /**
   * @param mostWide characters of a column; what is longer moves the rest of its line
   * @param paint a column's number and a cell of it, as it is shown
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
        boolean isNumber = row[i].matches("[0-9]+"); // they are compared by their ends
        line.append(isNumber ? room : "").append(paint.apply(i, row[i]));
        line.append(isNumber ? "  " : room + "  ");
      }
      lines.add(line.toString().stripTrailing());
    }
    return lines;
  }

  /** As one line that no terminal obeys. */
  static String oneLine(String text) {
    return AdminServer.printable(text.strip().replaceAll("\\s*\\R\\s*", "; "));
  }
}

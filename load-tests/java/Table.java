import java.util.ArrayList;
import java.util.List;

/** Lines of cells, as text with columns of even width or as Markdown. */
final class Table {
  private final List<List<String>> lines = new ArrayList<>();

  Table(String... head) {
    lines.add(List.of(head));
  }

  void line(List<String> cells) {
    lines.add(List.copyOf(cells));
  }

  String text() {
    int columns = lines.get(0).size();
    int[] widths = new int[columns];
    for (List<String> line : lines) {
      for (int i = 0; i < columns; i++) {
        widths[i] = Math.max(widths[i], line.get(i).length());
      }
    }
    StringBuilder text = new StringBuilder();
    for (List<String> line : lines) {
      StringBuilder row = new StringBuilder("  ");
      for (int i = 0; i < columns; i++) {
        row.append(i == 0 ? pad(line.get(i), widths[i], false) : pad(line.get(i), widths[i], true));
        row.append("  ");
      }
      text.append(row.toString().stripTrailing()).append('\n');
    }
    return text.toString();
  }

  String markdown() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < lines.size(); i++) {
      text.append("| ").append(String.join(" | ", lines.get(i))).append(" |\n");
      if (i == 0) {
        text.append("|---".repeat(lines.get(0).size())).append("|\n");
      }
    }
    return text.toString();
  }

  private static String pad(String cell, int width, boolean right) {
    String space = " ".repeat(width - cell.length());
    return right ? space + cell : cell + space;
  }
}

package dev.berth.cli;

import java.io.PrintWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Lines that are drawn again in the same place. On a terminal only: a line is cut at its edge while
 * the block is drawn, since one that went on below would move the rest.
 */
final class LiveBlock {
  private static final int DEFAULT_ROWS = 24;
  private static final String NO_WRAP = "\u001b[?7l";
  private static final String WRAP = "\u001b[?7h";

  private final PrintWriter out;
  private final int mostLines;
  private int drawn;

  /**
   * @param rows of the terminal as its variable says, null or empty when it does not
   */
  LiveBlock(PrintWriter out, @Nullable String rows) {
    this.out = out;
    this.mostLines = Math.max(3, rows(rows) - 1);
  }

  private static int rows(@Nullable String rows) {
    return rows != null && rows.matches("[0-9]{1,4}") ? Integer.parseInt(rows) : DEFAULT_ROWS;
  }

  /** Takes the place of what was drawn before. */
  void draw(List<String> lines) {
    StringBuilder text = new StringBuilder();
    if (drawn > 0) {
      text.append("\u001b[").append(drawn).append("A\r\u001b[J");
    }
    text.append(NO_WRAP);
    boolean all = lines.size() <= mostLines;
    List<String> shown = all ? lines : lines.subList(0, mostLines - 1);
    shown.forEach(line -> text.append(line).append('\n'));
    if (!all) {
      text.append("and ").append(lines.size() - shown.size()).append(" more lines\n");
    }
    drawn = Math.min(lines.size(), mostLines);
    out.print(text.append(WRAP));
    out.flush();
  }
}

package dev.berth.cli;

import java.io.PrintWriter;
import java.util.List;

/** Shows successive looks: a table drawn in place on a terminal, else lines of what changed. */
final class StatusDisplay {
  private final PrintWriter out;
  private final StatusChanges changes = new StatusChanges();
  private final LiveBlock block;
  private final boolean live;

  StatusDisplay(Surroundings around, PrintWriter out) {
    this.out = out;
    this.live = around.terminal();
    this.block = new LiveBlock(out, around.variables().apply("LINES"));
  }

  /**
   * @param lines on a terminal
   * @param applications of which the others tell what changed
   */
  void show(List<String> lines, List<ServeStatus.Application> applications) {
    if (live) {
      block.draw(lines);
    } else {
      changes.since(applications).forEach(out::println);
      out.flush();
    }
  }
}

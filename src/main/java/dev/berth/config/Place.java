package dev.berth.config;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.Node;

/** Where in a file the reading is, and where its problems go. One thread, one reading. */
final class Place {

  private final Reading reading;
  private final String path;

  private Place(Reading reading, String path) {
    this.reading = reading;
    this.path = path;
  }

  /**
   * The top of a file.
   *
   * @param file as the user named it
   * @param folder that relative paths in the file start from
   */
  static Place top(String file, Path folder) {
    return new Place(new Reading(file, folder, new ArrayList<>()), "");
  }

  Place key(String name) {
    return new Place(reading, path.isEmpty() ? name : path + "." + name);
  }

  Place item(int index) {
    return new Place(reading, path + "[" + index + "]");
  }

  String path() {
    return path;
  }

  /** {@code path} as seen from the file's folder. Paths are of the default file system. */
  Path resolve(String path) {
    return reading.folder().resolve(path).toAbsolutePath().normalize();
  }

  void problem(Node node, String value, String expected) {
    problem(node.getStartMark(), value, expected);
  }

  void problem(Optional<Mark> mark, String value, String expected) {
    report(Problem.Severity.ERROR, mark, value, expected);
  }

  void warning(Node node, String value, String expected) {
    report(Problem.Severity.WARNING, node.getStartMark(), value, expected);
  }

  private void report(
      Problem.Severity severity, Optional<Mark> mark, String value, String expected) {
    int line = mark.map(start -> start.getLine() + 1).orElse(0);
    int column = mark.map(start -> start.getColumn() + 1).orElse(0);
    reading
        .problems()
        .add(new Problem(severity, reading.file(), line, column, path, value, expected));
  }

  /** Problems and warnings so far, in the order of the file. */
  List<Problem> problems() {
    return reading.problems().stream()
        .sorted(Comparator.comparingInt(Problem::line).thenComparingInt(Problem::column))
        .toList();
  }

  private record Reading(String file, Path folder, List<Problem> problems) {}
}

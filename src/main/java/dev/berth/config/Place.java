package dev.berth.config;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.Node;

/** Where in a file the reading is, and where its problems go. One thread, one reading. */
final class Place {

  /** That one reading looks at on the disk, those of a folder of jars too. */
  static final int MOST_FILES = 50_000;

  private static final int LONGEST_PATH = 4096; // characters, as Linux has it

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
    return top(file, folder, false);
  }

  /** As {@link #top}, where {@link #everyProblem} will be asked for. */
  static Place topOfAll(String file, Path folder) {
    return top(file, folder, true);
  }

  private static Place top(String file, Path folder, boolean all) {
    AtomicInteger files = new AtomicInteger(MOST_FILES);
    return new Place(new Reading(file, folder, new Problems(all), new HashMap<>(), files), "");
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

  /**
   * {@code path} as seen from the file's folder, or from the current one when {@code node} comes
   * from the command line. Paths are of the default file system.
   *
   * @throws InvalidPathException when it is none
   */
  Path resolve(Node node, String path) {
    if (path.length() > LONGEST_PATH) { // of many parts it takes long
      throw new InvalidPathException(path, "longer than " + LONGEST_PATH + " characters");
    }
    boolean given = node.getStartMark().map(this::isOfOption).orElse(false);
    Path whole = given ? Path.of(path) : reading.folder().resolve(path);
    return whole.toAbsolutePath().normalize();
  }

  private boolean isOfOption(Mark mark) {
    return !mark.getName().equals(reading.file());
  }

  /** Where relative paths start. */
  Path folder() {
    return reading.folder();
  }

  /** A problem with a setting that cannot be applied. */
  void problem(Setting setting, String value, String expected) {
    reading
        .problems()
        .add(new Problem(setting.option(), 0, 0, Scalars.shorten(setting.key()), value, expected));
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
    Spot spot = spot(mark);
    reading
        .problems()
        .add(new Problem(severity, spot.file(), spot.line(), spot.column(), path, value, expected));
  }

  /** Notes where this place stands, for problems that are found when the reading is over. */
  void remember(Node node) {
    reading.spots().put(path, spot(node.getStartMark()));
  }

  /** What is remembered of this place and below. */
  Source source() {
    return new Source(reading.file(), path, reading.spots());
  }

  Spot spot(Optional<Mark> mark) {
    if (mark.isEmpty()) {
      return new Spot(reading.file(), 0, 0);
    }
    Mark start = mark.get();
    return isOfOption(start)
        ? new Spot(start.getName(), 0, 0)
        : new Spot(reading.file(), start.getLine() + 1, start.getColumn() + 1);
  }

  /** Takes leave to look at one more file; false when so many were looked at. */
  boolean tryLook() {
    return reading.filesLeft().getAndDecrement() > 0;
  }

  /** Whether leave was refused. */
  boolean hasLookedEnough() {
    return reading.filesLeft().get() < 0;
  }

  /** One that was found when the reading was over. */
  void add(Problem problem) {
    reading.problems().add(problem);
  }

  /** Whether there are problems so far that are no warnings. */
  boolean isWrong() {
    return reading.problems().refuse();
  }

  /** Whether so many are told already that the next one is only counted. */
  boolean isFull() {
    return reading.problems().isFull();
  }

  /** The first problems and warnings so far, in the order of the file, and how many more. */
  List<Problem> problems() {
    return reading.problems().first();
  }

  /** All of them, of a place that keeps them. */
  List<Problem> everyProblem() {
    return reading.problems().every();
  }

  /**
   * @param file or the option of the command line
   * @param line from 1; 0 for none
   * @param column from 1; 0 for none
   */
  record Spot(String file, int line, int column) {}

  private record Reading(
      String file,
      Path folder,
      Problems problems,
      Map<String, Spot> spots,
      AtomicInteger filesLeft) {}
}

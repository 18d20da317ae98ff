package dev.berth.config.keys;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.Node;

/** Where in a file the reading is, and where its problems go. One thread, one reading. */
public final class Place {

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
   * @param elsewhere the path of a key of this name somewhere in a file, or null: for hints
   * @param all whether {@link #everyProblem} will be asked for
   * @param jars where a jar lies, by its SHA-256 in 64 hexadecimal digits; null for an unknown one
   */
  public static Place top(
      String file,
      Path folder,
      Function<String, @Nullable String> elsewhere,
      boolean all,
      Function<String, @Nullable Path> jars) {
    AtomicInteger files = new AtomicInteger(MOST_FILES);
    return new Place(
        new Reading(file, folder, elsewhere, new Problems(all), new HashMap<>(), files, jars), "");
  }

  /** The top of what stands in no file, which starts from the current folder. */
  static Place nowhere() {
    return top("", Path.of(""), name -> null, false, sha256 -> null);
  }

  /** A jar by its content; null for an unknown one. */
  @Nullable Path jar(String sha256) {
    return reading.jars().apply(sha256);
  }

  /** Of the value of a key of this mapping. */
  public Place key(String name) {
    return new Place(reading, path.isEmpty() ? name : path + "." + name);
  }

  Place item(int index) {
    return new Place(reading, path + "[" + index + "]");
  }

  /** From the top, as in {@code applications[0].name}; empty for the top. */
  public String path() {
    return path;
  }

  /**
   * {@code path} as seen from the file's folder, or from the current one when {@code node} comes
   * from the command line. Paths are of the default file system.
   *
   * @throws InvalidPathException when it is none
   */
  public Path resolve(Node node, String path) {
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

  /** The path of a key called {@code name} somewhere in a file; null when there is none. */
  @Nullable String elsewhere(String name) {
    return reading.elsewhere().apply(name);
  }

  /** Where relative paths start. */
  public Path folder() {
    return reading.folder();
  }

  /** A problem with a setting that cannot be applied. */
  public void problem(String option, String key, String value, String expected) {
    reading.problems().add(new Problem(option, 0, 0, Scalars.shorten(key), value, expected));
  }

  /** Reports a problem with what stands at {@code node}. */
  public void problem(Node node, String value, String expected) {
    problem(node.getStartMark(), value, expected);
  }

  /** Reports a problem at {@code mark}; without one, of the file as a whole. */
  public void problem(Optional<Mark> mark, String value, String expected) {
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
  public Source source() {
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

  /** Where a node stands, {@code file:line:column}, or the option that gives it. */
  public String where(Node node) {
    Spot spot = spot(node.getStartMark());
    return spot.line() == 0 ? spot.file() : spot.file() + ":" + spot.line() + ":" + spot.column();
  }

  /** Takes leave to look at one more file; false when so many were looked at. */
  boolean tryLook() {
    return reading.filesLeft().getAndDecrement() > 0;
  }

  /** Whether leave was refused. */
  boolean hasLookedEnough() {
    return reading.filesLeft().get() < 0;
  }

  /** Whether there are problems so far that are no warnings. */
  public boolean isWrong() {
    return reading.problems().refuse();
  }

  /** Whether so many are told already that the next one is only counted. */
  boolean isFull() {
    return reading.problems().isFull();
  }

  /** The first problems and warnings so far, in the order of the file, and how many more. */
  public List<Problem> problems() {
    return reading.problems().first();
  }

  /** All of them, of a place that keeps them. */
  public List<Problem> everyProblem() {
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
      Function<String, @Nullable String> elsewhere,
      Problems problems,
      Map<String, Spot> spots,
      AtomicInteger filesLeft,
      Function<String, @Nullable Path> jars) {}
}

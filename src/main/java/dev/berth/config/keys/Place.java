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

/**
 * A position in the tree of a file during reading, which also receives problems. Confined to the
 * thread of one reading.
 */
public final class Place {

  /** Maximum number of files that one reading may inspect, including those in folders of jars. */
  static final int MOST_FILES = 50_000;

  private static final int LONGEST_PATH = 4096; // characters, as in Linux

  private final Reading reading;
  private final String path;

  private Place(Reading reading, String path) {
    this.reading = reading;
    this.path = path;
  }

  /**
   * Creates the top of a file.
   *
   * @param file as the user named it
   * @param folder base of relative paths in the file
   * @param elsewhere returns the path of a key of a given name anywhere in a file, or null; for
   *     hints
   * @param all whether {@link #everyProblem} will be called
   * @param jars returns the path of a jar by its SHA-256 in 64 hexadecimal digits; null when
   *     unknown
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

  /** Creates a top without a file, whose base is the current folder. */
  static Place nowhere() {
    return top("", Path.of(""), name -> null, false, sha256 -> null);
  }

  /** Returns the path of a jar by its content; null when unknown. */
  @Nullable Path jar(String sha256) {
    return reading.jars().apply(sha256);
  }

  /** Returns the place of the value of a key of this mapping. */
  public Place key(String name) {
    return new Place(reading, path.isEmpty() ? name : path + "." + name);
  }

  Place item(int index) {
    return new Place(reading, path + "[" + index + "]");
  }

  /** Returns the path from the top, as in {@code applications[0].name}; empty for the top. */
  public String path() {
    return path;
  }

  /**
   * Resolves {@code path} against the file's folder, or against the current folder when {@code
   * node} comes from the command line. Paths belong to the default file system.
   *
   * @throws InvalidPathException when it is not a path
   */
  public Path resolve(Node node, String path) {
    if (path.length() > LONGEST_PATH) { // many segments are slow to normalize
      throw new InvalidPathException(path, "longer than " + LONGEST_PATH + " characters");
    }
    boolean given = node.getStartMark().map(this::isOfOption).orElse(false);
    Path whole = given ? Path.of(path) : reading.folder().resolve(path);
    return whole.toAbsolutePath().normalize();
  }

  private boolean isOfOption(Mark mark) {
    return !mark.getName().equals(reading.file());
  }

  /** Returns the path of a key called {@code name} anywhere in a file; null when there is none. */
  @Nullable String elsewhere(String name) {
    return reading.elsewhere().apply(name);
  }

  /** Returns the base of relative paths. */
  public Path folder() {
    return reading.folder();
  }

  /** Reports a problem with a setting that cannot be applied. */
  public void problem(String option, String key, String value, String expected) {
    reading.problems().add(new Problem(option, 0, 0, Scalars.shorten(key), value, expected));
  }

  /** Reports a problem at {@code node}. */
  public void problem(Node node, String value, String expected) {
    problem(node.getStartMark(), value, expected);
  }

  /** Reports a problem at {@code mark}; without a mark, a problem of the whole file. */
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

  /** Records the position of this place, for problems that are found after reading. */
  void remember(Node node) {
    reading.spots().put(path, spot(node.getStartMark()));
  }

  /** Returns the recorded positions of this place and below. */
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

  /** Returns the position of a node, {@code file:line:column}, or the option that set the node. */
  public String where(Node node) {
    Spot spot = spot(node.getStartMark());
    return spot.line() == 0 ? spot.file() : spot.file() + ":" + spot.line() + ":" + spot.column();
  }

  /** Counts the inspection of one more file; returns false when the limit is reached. */
  boolean tryLook() {
    return reading.filesLeft().getAndDecrement() > 0;
  }

  /** Returns whether an inspection was refused. */
  boolean hasLookedEnough() {
    return reading.filesLeft().get() < 0;
  }

  /** Returns whether an error was reported so far; warnings do not count. */
  public boolean isWrong() {
    return reading.problems().refuse();
  }

  /**
   * Returns whether the number of reported errors is at its limit; further ones are only counted.
   */
  boolean isFull() {
    return reading.problems().isFull();
  }

  /**
   * Returns the first problems and warnings so far in the order of the file, and the number of
   * further ones.
   */
  public List<Problem> problems() {
    return reading.problems().first();
  }

  /** Returns all problems; requires a place that was created to retain all. */
  public List<Problem> everyProblem() {
    return reading.problems().every();
  }

  /**
   * A position in a file.
   *
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

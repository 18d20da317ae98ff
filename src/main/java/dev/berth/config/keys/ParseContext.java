package dev.berth.config.keys;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.HashMap;
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
public final class ParseContext {

  /** Maximum number of files that one reading may inspect, including those in folders of jars. */
  static final int MAX_FILES = 50_000;

  private static final int MAX_PATH_CHARS = 4096; // characters, as in Linux

  private final ParseState reading;
  private final String path;

  private ParseContext(ParseState reading, String path) {
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
   * @param all whether {@link Problems#every} will be called
   * @param jars returns the path of a jar by its SHA-256 in 64 hexadecimal digits; null when
   *     unknown
   */
  public static ParseContext top(
      String file,
      Path folder,
      Function<String, @Nullable String> elsewhere,
      boolean all,
      Function<String, @Nullable Path> jars) {
    AtomicInteger files = new AtomicInteger(MAX_FILES);
    return new ParseContext(
        new ParseState(file, folder, elsewhere, new Problems(all), new HashMap<>(), files, jars),
        "");
  }

  /** Creates a top without a file, whose base is the current folder. */
  static ParseContext nowhere() {
    return top("", Path.of(""), name -> null, false, sha256 -> null);
  }

  /** Returns the path of a jar by its content; null when unknown. */
  @Nullable Path jar(String sha256) {
    return reading.jars().apply(sha256);
  }

  /** Returns the place of the value of a key of this mapping. */
  public ParseContext key(String name) {
    return new ParseContext(reading, path.isEmpty() ? name : path + "." + name);
  }

  ParseContext item(int index) {
    return new ParseContext(reading, path + "[" + index + "]");
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
    if (path.length() > MAX_PATH_CHARS) { // many segments are slow to normalize
      throw new InvalidPathException(path, "longer than " + MAX_PATH_CHARS + " characters");
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
    problems().add(new ConfigProblem(option, 0, 0, YamlScalars.shorten(key), value, expected));
  }

  /** Reports a problem at {@code node}. */
  public void problem(Node node, String value, String expected) {
    problem(node.getStartMark(), value, expected);
  }

  /** Reports a problem at {@code mark}; without a mark, a problem of the whole file. */
  public void problem(Optional<Mark> mark, String value, String expected) {
    report(ConfigProblem.Severity.ERROR, mark, value, expected);
  }

  void warning(Node node, String value, String expected) {
    report(ConfigProblem.Severity.WARNING, node.getStartMark(), value, expected);
  }

  private void report(
      ConfigProblem.Severity severity, Optional<Mark> mark, String value, String expected) {
    FilePosition spot = spot(mark);
    problems()
        .add(
            new ConfigProblem(
                severity, spot.file(), spot.line(), spot.column(), path, value, expected));
  }

  /** Records the position of this place, for problems that are found after reading. */
  void recordPosition(Node node) {
    reading.spots().put(path, spot(node.getStartMark()));
  }

  /** Returns the recorded positions of this place and below. */
  public ProblemLocator source() {
    return new ProblemLocator(reading.file(), path, reading.spots());
  }

  FilePosition spot(Optional<Mark> mark) {
    if (mark.isEmpty()) {
      return new FilePosition(reading.file(), 0, 0);
    }
    Mark start = mark.get();
    return isOfOption(start)
        ? new FilePosition(start.getName(), 0, 0)
        : new FilePosition(reading.file(), start.getLine() + 1, start.getColumn() + 1);
  }

  /** Returns the position of a node, {@code file:line:column}, or the option that set the node. */
  public String where(Node node) {
    FilePosition spot = spot(node.getStartMark());
    return spot.line() == 0 ? spot.file() : spot.file() + ":" + spot.line() + ":" + spot.column();
  }

  /** Counts the inspection of one more file; returns false when the limit is reached. */
  boolean tryInspect() {
    return reading.filesLeft().getAndDecrement() > 0;
  }

  /** Returns whether an inspection was refused. */
  boolean isInspectionLimitReached() {
    return reading.filesLeft().get() < 0;
  }

  /** Returns the collector of the problems of the whole reading. */
  public Problems problems() {
    return reading.problems();
  }

  /**
   * A position in a file.
   *
   * @param file or the option of the command line
   * @param line from 1; 0 for none
   * @param column from 1; 0 for none
   */
  record FilePosition(String file, int line, int column) {}

  private record ParseState(
      String file,
      Path folder,
      Function<String, @Nullable String> elsewhere,
      Problems problems,
      Map<String, FilePosition> spots,
      AtomicInteger filesLeft,
      Function<String, @Nullable Path> jars) {}
}

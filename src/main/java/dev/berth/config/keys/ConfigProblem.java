package dev.berth.config.keys;

/**
 * A problem of a configuration.
 *
 * @param severity whether the problem prevents the use of the configuration
 * @param file as the user named it, or the option of the command line that set the value; empty for
 *     a text that is no longer available
 * @param line from 1; 0 when the problem is the file itself, or an option
 * @param column from 1; 0 when the problem is the file itself, or an option
 * @param path of the key, as in {@code applications[0].deployments[1].num_replicas}; empty for the
 *     file itself
 * @param value the actual text, of bounded length, or a description of the problem
 * @param expected a description of valid values
 */
public record ConfigProblem(
    Severity severity,
    String file,
    int line,
    int column,
    String path,
    String value,
    String expected) {

  /** Consequence of a problem for its configuration. */
  public enum Severity {
    /** Configuration refused. */
    ERROR,
    /** Configuration used; the affected key has no effect, or is deprecated. */
    WARNING
  }

  /** Creates an {@link Severity#ERROR}. */
  public ConfigProblem(
      String file, int line, int column, String path, String value, String expected) {
    this(Severity.ERROR, file, line, column, path, value, expected);
  }

  /** Returns whether the configuration is used despite the problem. */
  public boolean isWarning() {
    return severity == Severity.WARNING;
  }

  /**
   * Returns a line {@code file:line:column: path: value (expected: …)}; a warning has the word
   * before its path.
   */
  @Override
  public String toString() {
    String where = line == 0 ? file : file + ":" + line + ":" + column;
    return (where.isEmpty() ? "" : where + ": ") + (isWarning() ? "warning: " : "") + message();
  }

  /** Returns the line without its position. */
  public String message() {
    String text = value + " (expected: " + expected + ")";
    return path.isEmpty() ? text : path + ": " + text;
  }
}

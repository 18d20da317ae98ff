package dev.berth.config.keys;

/**
 * One thing to say about a configuration.
 *
 * @param severity whether it keeps the configuration from being used
 * @param file as the user named it, or the option of the command line that gives the value; empty
 *     for a text that is not at hand any more
 * @param line from 1; 0 when the problem is the file itself, or an option
 * @param column from 1; 0 when the problem is the file itself, or an option
 * @param path of the key, as in {@code applications[0].deployments[1].num_replicas}; empty for the
 *     file itself
 * @param value what stands there, as text of bounded length, or what is the matter with it
 * @param expected what would be right
 */
public record Problem(
    Severity severity,
    String file,
    int line,
    int column,
    String path,
    String value,
    String expected) {

  /** What becomes of a configuration with such a problem. */
  public enum Severity {
    /** It is refused. */
    ERROR,
    /** It is used; what the problem is about has no effect. */
    WARNING
  }

  /** An {@link Severity#ERROR}. */
  public Problem(String file, int line, int column, String path, String value, String expected) {
    this(Severity.ERROR, file, line, column, path, value, expected);
  }

  /** Whether the configuration is used in spite of it. */
  public boolean isWarning() {
    return severity == Severity.WARNING;
  }

  /**
   * One line: {@code file:line:column: path: value (expected: …)}; a warning has the word before
   * its path.
   */
  @Override
  public String toString() {
    String where = line == 0 ? file : file + ":" + line + ":" + column;
    return (where.isEmpty() ? "" : where + ": ") + (isWarning() ? "warning: " : "") + message();
  }

  /** The line without its place. */
  public String message() {
    String text = value + " (expected: " + expected + ")";
    return path.isEmpty() ? text : path + ": " + text;
  }
}

package dev.berth.config;

/**
 * One thing wrong with a configuration.
 *
 * @param file as the user named it
 * @param line from 1; 0 when the problem is the file itself
 * @param column from 1; 0 when the problem is the file itself
 * @param path of the key, as in {@code applications[0].deployments[1].num_replicas}; empty for the
 *     file itself
 * @param value what stands there, as text of bounded length, or what is the matter with it
 * @param expected what would be right
 */
public record Problem(
    String file, int line, int column, String path, String value, String expected) {

  /** One line: {@code file:line:column: path: value (expected: …)}. */
  @Override
  public String toString() {
    String where = line == 0 ? file : file + ":" + line + ":" + column;
    return where + ": " + message();
  }

  /** The line without its place. */
  public String message() {
    String text = value + " (expected: " + expected + ")";
    return path.isEmpty() ? text : path + ": " + text;
  }
}

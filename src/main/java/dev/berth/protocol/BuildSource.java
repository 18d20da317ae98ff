package dev.berth.protocol;

import java.util.List;

/**
 * The source of an application's code, for a node that does not have the code.
 *
 * @param entry the application's entry in a configuration, a JSON object; its jar paths are those
 *     of another node
 * @param jars in class path order
 */
public record BuildSource(String entry, List<JarFile> jars) {

  /**
   * A jar, identified by its content.
   *
   * @param name display name
   * @param sha256 64 hexadecimal digits
   */
  public record JarFile(String name, String sha256, long bytes) {
    public JarFile {
      if (!sha256.matches("[0-9a-f]{64}")) { // the digest becomes part of a file name
        throw new IllegalArgumentException("sha256: " + sha256 + " (expected: 64 digits 0-9a-f)");
      }
    }
  }

  /** Copies the list. */
  public BuildSource {
    jars = List.copyOf(jars);
  }
}

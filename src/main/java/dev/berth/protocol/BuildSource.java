package dev.berth.protocol;

import java.util.List;

/**
 * What the code of an application is built from, for a node that does not have it.
 *
 * @param entry of the application in a configuration, a JSON object, with the jars' paths on
 *     another node
 * @param jars in the order of its class path
 */
public record BuildSource(String entry, List<JarFile> jars) {

  /**
   * A jar by its content.
   *
   * @param name for people
   * @param sha256 64 hexadecimal digits
   */
  public record JarFile(String name, String sha256, long bytes) {
    public JarFile {
      if (!sha256.matches("[0-9a-f]{64}")) { // it becomes a part of a file's name
        throw new IllegalArgumentException("sha256: " + sha256 + " (expected: 64 digits 0-9a-f)");
      }
    }
  }

  /** The list is copied. */
  public BuildSource {
    jars = List.copyOf(jars);
  }
}

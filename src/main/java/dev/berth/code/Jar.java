package dev.berth.code;

import java.nio.file.Path;

/**
 * A jar file, identified by its content.
 *
 * @param name the submitted file name, for display
 * @param digest SHA-256 of the content in hexadecimal digits
 */
public record Jar(String name, String digest) {

  /**
   * Returns the jar of a file, which may be a stored copy.
   *
   * @param digest of the content of the file
   */
  public static Jar at(Path file, String digest) {
    String name = file.getFileName().toString();
    String end = endOfCopy(digest);
    boolean copy = name.endsWith(end);
    return new Jar(copy ? name.substring(0, name.length() - end.length()) + ".jar" : name, digest);
  }

  /** Returns the file name of its copy, unique per content. */
  public String copyName() {
    String plain = name.replaceAll("\\.jar$", "").replaceAll("[^A-Za-z0-9._-]", "_");
    String shortened = plain.length() > 60 ? plain.substring(0, 60) : plain;
    return shortened + endOfCopy(digest);
  }

  /** Returns the suffix of the names of all copies with this content. */
  public static String endOfCopy(String digest) {
    return "-" + digest.substring(0, 32) + ".jar";
  }

  /** Returns the submitted name of a jar, which may be a stored copy. */
  static String originalName(Path jar) {
    return jar.getFileName().toString().replaceFirst("-[0-9a-f]{32}\\.jar$", ".jar");
  }
}

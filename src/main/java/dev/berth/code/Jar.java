package dev.berth.code;

import java.nio.file.Path;

/**
 * A file of code, by its content.
 *
 * @param name as it was submitted, for people
 * @param digest equal for files that hold the same, in hexadecimal digits
 */
public record Jar(String name, String digest) {

  /**
   * The one in a file, which may be a copy of one.
   *
   * @param digest of what is in it
   */
  public static Jar at(Path file, String digest) {
    String name = file.getFileName().toString();
    String end = endOfCopy(digest);
    boolean copy = name.endsWith(end);
    return new Jar(copy ? name.substring(0, name.length() - end.length()) + ".jar" : name, digest);
  }

  /** Of its copy: another for each content. */
  public String copyName() {
    String plain = name.replaceAll("\\.jar$", "").replaceAll("[^A-Za-z0-9._-]", "_");
    String shortened = plain.length() > 60 ? plain.substring(0, 60) : plain;
    return shortened + endOfCopy(digest);
  }

  /** What the names of all copies with this content end with. */
  public static String endOfCopy(String digest) {
    return "-" + digest.substring(0, 32) + ".jar";
  }

  /** What people call a jar, of which this may be the copy. */
  static String given(Path jar) {
    return jar.getFileName().toString().replaceFirst("-[0-9a-f]{32}\\.jar$", ".jar");
  }
}

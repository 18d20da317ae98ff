package dev.berth.code;

import java.nio.file.Path;

/**
 * A file of code, by its content.
 *
 * @param name as it was submitted, for people
 * @param digest equal for files that hold the same, in hexadecimal digits
 */
public record Jar(String name, String digest) {

  /** Of its copy: another for each content. */
  public String copyName() {
    String plain = name.replaceAll("\\.jar$", "").replaceAll("[^A-Za-z0-9._-]", "_");
    String shortened = plain.length() > 60 ? plain.substring(0, 60) : plain;
    return shortened + "-" + digest.substring(0, 32) + ".jar";
  }

  /** What people call a jar, of which this may be the copy. */
  static String given(Path jar) {
    return jar.getFileName().toString().replaceFirst("-[0-9a-f]{32}\\.jar$", ".jar");
  }
}

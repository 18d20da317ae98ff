package dev.berth.cli.dev;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.lang.model.SourceVersion;
import org.jspecify.annotations.Nullable;

/**
 * Project that {@code berth new} writes. Its texts are resources with placeholders, as {@code
 * @name@}.
 *
 * @param name name of the project and its folder
 * @param variant {@code java}, {@code kotlin} or {@code gradle}
 * @param version version of Berth's artifacts
 */
public record ProjectTemplate(String name, String variant, String version) {

  /** Returns the expected form of a name; null for a permitted name. */
  public static @Nullable String refusal(String name) {
    boolean valid = name.matches("[a-z][a-z0-9]*(-[a-z0-9]+)*") && name.length() <= 50;
    return valid && SourceVersion.isName(packageOf(name))
        ? null
        : "at most 50 lower-case letters, digits and hyphens, from a letter, and no Java keyword";
  }

  private static String packageOf(String name) {
    return name.replace("-", "");
  }

  private static String classOf(String name) {
    return Arrays.stream(name.split("-"))
        .map(word -> word.substring(0, 1).toUpperCase(java.util.Locale.ROOT) + word.substring(1))
        .collect(Collectors.joining());
  }

  /** Returns the resource of each file of the project. */
  private Map<String, String> files() {
    boolean kotlin = variant.equals("kotlin");
    String language = kotlin ? "kotlin" : "java";
    String end = kotlin ? ".kt" : ".java";
    String source = "/" + language + "/" + packageOf(name) + "/" + classOf(name);
    Map<String, String> files = new TreeMap<>();
    files.put(".gitignore", "gitignore");
    files.put("README.md", "README.md");
    files.put("berth.yaml", "berth.yaml");
    files.put("src/main" + source + end, "App" + end + ".txt");
    files.put("src/test" + source + "Test" + end, "AppTest" + end + ".txt");
    if (variant.equals("gradle")) {
      files.put("build.gradle.kts", "build.gradle.kts");
      files.put("settings.gradle.kts", "settings.gradle.kts");
    } else {
      files.put("pom.xml", kotlin ? "kotlin-pom.xml" : "pom.xml");
    }
    return files;
  }

  /**
   * Writes the files.
   *
   * @return the paths of the written files
   * @throws IOException if the folder is not empty, or cannot be written
   */
  public List<Path> write(Path folder) throws IOException {
    if (Files.exists(folder)) {
      try (Stream<Path> inside = Files.list(folder)) {
        if (inside.findAny().isPresent()) {
          throw new IOException(folder + ": not empty (expected: a new or empty folder)");
        }
      }
    }
    List<Path> written = new ArrayList<>();
    for (Map.Entry<String, String> each : files().entrySet()) {
      Path file = folder.resolve(each.getKey());
      Files.createDirectories(file.getParent());
      Files.writeString(file, text(each.getValue()));
      written.add(file);
    }
    return written;
  }

  private String text(String resource) throws IOException {
    try (InputStream in = ProjectTemplate.class.getResourceAsStream("template/" + resource)) {
      boolean gradle = variant.equals("gradle");
      return new String(Objects.requireNonNull(in, resource).readAllBytes(), StandardCharsets.UTF_8)
          .replace("@name@", name)
          .replace("@package@", packageOf(name))
          .replace("@class@", classOf(name))
          .replace("@version@", version)
          .replace("@output@", gradle ? "build/libs" : "target")
          .replace("@build@", gradle ? "gradle build" : "mvn -q package");
    }
  }
}

package dev.berth.cli.dev;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * Project that {@code berth new} writes. Its texts are resources with placeholders, as {@code
 * @name@}. The resource {@code java.files} has the files of the variant {@code java}, each with its
 * resource.
 *
 * @param name name of the project
 * @param variant {@code java}, {@code kotlin} or {@code gradle}
 * @param version version of Berth's artifacts
 */
public record ProjectTemplate(String name, String variant, String version) {

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
    for (String line : text(variant + ".files").lines().toList()) {
      String[] words = line.split(" ");
      Path file = folder.resolve(words[0]);
      Files.createDirectories(file.getParent());
      written.add(Files.writeString(file, text(words[1])));
    }
    return written;
  }

  private String text(String resource) throws IOException {
    boolean gradle = variant.equals("gradle");
    try (InputStream in = ProjectTemplate.class.getResourceAsStream("template/" + resource)) {
      byte[] text = Objects.requireNonNull(in, resource).readAllBytes();
      return new String(text, StandardCharsets.UTF_8)
          .replace("@name@", name)
          .replace("@version@", version)
          .replace("@output@", gradle ? "build/libs" : "target")
          .replace("@build@", gradle ? "gradle build" : "mvn -q package");
    }
  }
}

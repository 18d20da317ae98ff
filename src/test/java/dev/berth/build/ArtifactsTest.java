package dev.berth.build;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A project that knows the API by its coordinates alone can compile against all of it. */
class ArtifactsTest {
  private static final Pattern OTHERS =
      Pattern.compile("(?m)^import (?:static )?((?!java\\.|dev\\.berth\\.api\\.)\\w+\\.\\w+)\\.");

  @Test
  void whatTheApiImportsComesWithItsCoordinates() throws IOException {
    TreeSet<String> imported = new TreeSet<>();
    try (Stream<Path> files = Files.walk(Path.of("src/main/java/dev/berth/api"))) {
      for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
        Matcher found = OTHERS.matcher(Files.readString(file));
        while (found.find()) {
          imported.add(found.group(1));
        }
      }
    }
    String artifact = Files.readString(Path.of("src/artifacts/berth-api.xml"));
    assertThat(imported)
        .contains("io.vertx")
        .allSatisfy(group -> assertThat(artifact).contains("<groupId>" + group + "</groupId>"));
  }
}

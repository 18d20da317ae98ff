package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code THIRD-PARTY} against the jars: it lists each library with classes or binaries in them. */
class ThirdPartyIT {
  private static final Path JAR = Path.of(System.getProperty("berth.jar", "target/berth.jar"));
  private static final Pattern IN_REPOSITORY =
      Pattern.compile(".*/repository/(.+)/([^/]+)/([^/]+)/[^/]+\\.jar");

  /** Checksums of the classes and native libraries of a jar, by name. */
  private static Map<String, Long> contents(Path jar) throws IOException {
    Map<String, Long> contents = new HashMap<>();
    try (JarFile file = new JarFile(jar.toFile())) {
      file.stream()
          .filter(each -> each.getName().endsWith(".class") || each.getName().endsWith(".so"))
          .filter(each -> !each.getName().equals("module-info.class"))
          .forEach((JarEntry each) -> contents.put(each.getName(), each.getCrc()));
    }
    return contents;
  }

  private static Stream<Path> libraries() {
    String own = System.getProperty("java.class.path");
    String all = System.getProperty("surefire.test.class.path", own);
    return Stream.of(all.split(":")).filter(each -> each.endsWith(".jar")).map(Path::of);
  }

  private static String coordinates(Path library) {
    Matcher place = IN_REPOSITORY.matcher(library.toString());
    assertThat(place.matches()).as("%s: a path in a repository of Maven", library).isTrue();
    return place.group(1).replace('/', '.') + ":" + place.group(2) + ":" + place.group(3);
  }

  /** Coordinates below the heading of a jar. */
  private static List<String> listed(String jar) throws IOException {
    return Files.readString(Path.of("THIRD-PARTY"))
        .split("\n" + Pattern.quote(jar) + "\n", 2)[1]
        .split("\n\n", 2)[0]
        .lines()
        .map(line -> Pattern.compile("^  ([^: ]+:[^: ]+:[^: ]+): .*").matcher(line))
        .filter(Matcher::matches)
        .map(line -> line.group(1))
        .toList();
  }

  @ParameterizedTest
  @ValueSource(strings = {"berth.jar", "berth-cluster.jar", "berth-examples.jar"})
  void thirdPartyListsAllLibrariesInTheJar(String jar) throws IOException {
    Map<String, Long> contents = contents(JAR.resolveSibling(jar));
    TreeSet<String> found = new TreeSet<>();
    for (Path library : libraries().toList()) {
      if (contents(library).entrySet().stream()
          .anyMatch(each -> each.getValue().equals(contents.get(each.getKey())))) {
        found.add(coordinates(library));
      }
    }
    assertThat(listed(jar)).isNotEmpty().containsExactlyElementsOf(found);
  }
}

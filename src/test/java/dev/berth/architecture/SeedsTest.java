package dev.berth.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.annotation.Testable;
import org.junit.platform.commons.support.AnnotationSupport;

/** {@code docs/seeds.md} is true: the tests it names exist and run. */
class SeedsTest {
  private static final Path TESTS = Path.of("src/test/java");
  private static final Path TABLE = Path.of("docs/seeds.md");

  /** Sections of the table that must be there, by the start of their titles. */
  private static final List<String> SECTIONS =
      List.of("Seed 000", "Seed 001", "Seed 002", "Seed 003", "Ray Serve's own tests");

  @Test
  void everyRowNamesATestThatRunsOrSaysWhyThereIsNone() throws IOException {
    SeedTable table = SeedTable.parse(Files.readAllLines(TABLE));
    assertThat(table.problems()).isEmpty();
    assertThat(missing(table, typesByName())).isEmpty();
  }

  @Test
  void everySeedHasItsRowsAndNoRowStandsTwice() throws IOException {
    List<String> lines = Files.readAllLines(TABLE);
    SeedTable table = SeedTable.parse(lines);
    for (String section : SECTIONS) {
      assertThat(lines).as(section).anyMatch(line -> line.startsWith("## " + section));
    }
    Set<String> seen = new HashSet<>();
    assertThat(table.rows())
        .isNotEmpty()
        .allSatisfy(
            row -> assertThat(seen.add(row.section() + row.what())).as(row.what()).isTrue());
  }

  /** {@code docs/planted-bugs.md} has the same kind of table. */
  @Test
  void everyPlantedBugNamesTestsThatRun() throws IOException {
    SeedTable table = SeedTable.parse(Files.readAllLines(Path.of("docs/planted-bugs.md")));
    assertThat(table.rows()).hasSizeGreaterThanOrEqualTo(4);
    assertThat(table.problems()).isEmpty();
    assertThat(missing(table, typesByName())).isEmpty();
  }

  @Test
  void aMissingTestARowWithoutAnswerAndAHelperMethodAreEachReported() throws IOException {
    SeedTable table =
        SeedTable.parse(
            List.of(
                "| what | held by |",
                "|---|---|",
                "| a | `SeedsTest#noSuchTest` |",
                "| b | `NoSuchClass#someTest` |",
                "| c | `SeedsTest#missing` |",
                "| d |  |",
                "| e | later |",
                "| f | later: not asked for yet |",
                "| g | `SeedsTest#everyRowNamesATestThatRunsOrSaysWhyThereIsNone` |"));
    assertThat(table.problems())
        .hasSize(2)
        .anyMatch(problem -> problem.startsWith("line 6: d: no answer"))
        .anyMatch(problem -> problem.startsWith("line 7: e: later"));
    assertThat(missing(table, typesByName()))
        .containsExactly(
            "line 3: SeedsTest#noSuchTest",
            "line 4: NoSuchClass#someTest",
            "line 5: SeedsTest#missing");
  }

  private static List<String> missing(SeedTable table, Map<String, String> types) {
    List<String> missing = new ArrayList<>();
    for (SeedTable.Row row : table.rows()) {
      for (SeedTable.TestName test : row.tests()) {
        String type = types.get(test.type());
        if (type == null || !runs(load(type), test.method())) {
          missing.add("line " + row.line() + ": " + test);
        }
      }
    }
    return missing;
  }

  /** Test classes by simple name, from the sources: one name, one class. */
  private static Map<String, String> typesByName() throws IOException {
    Map<String, String> types = new HashMap<>();
    try (Stream<Path> files = Files.walk(TESTS)) {
      files
          .filter(file -> file.toString().endsWith(".java"))
          .forEach(
              file -> {
                String path = TESTS.relativize(file).toString();
                String name = path.substring(0, path.length() - ".java".length());
                types.put(file.getFileName().toString().replace(".java", ""), dotted(name));
              });
    }
    return types;
  }

  private static String dotted(String path) {
    return path.replace('/', '.').replace('\\', '.');
  }

  private static Class<?> load(String name) {
    try {
      return Class.forName(name, false, SeedsTest.class.getClassLoader());
    } catch (ClassNotFoundException absent) {
      throw new UncheckedIOException(new IOException("not compiled: " + name, absent));
    }
  }

  /** Whether the class, one it extends, or one nested in it has that test, and it is not off. */
  private static boolean runs(Class<?> type, String method) {
    if (AnnotationSupport.isAnnotated(type, Disabled.class)) {
      return false;
    }
    for (Class<?> each = type; each != null; each = each.getSuperclass()) {
      for (Method declared : each.getDeclaredMethods()) {
        if (declared.getName().equals(method)
            && AnnotationSupport.isAnnotated(declared, Testable.class)
            && !AnnotationSupport.isAnnotated(declared, Disabled.class)) {
          return true;
        }
      }
    }
    for (Class<?> nested : type.getDeclaredClasses()) {
      if (runs(nested, method)) {
        return true;
      }
    }
    return false;
  }
}

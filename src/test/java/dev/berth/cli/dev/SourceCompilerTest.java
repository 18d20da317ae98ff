package dev.berth.cli.dev;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SourceCompilerTest {
  private @TempDir Path folder;
  private Path classes;

  @BeforeEach
  void makeClasses() throws IOException {
    classes = Files.createDirectory(folder.resolve("classes"));
  }

  private Path source(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name + ".java"), text);
  }

  private List<String> compile(Map<String, String> values, Path... sources) throws IOException {
    try (SourceCompiler compiler = new SourceCompiler(folder)) {
      return compiler.compile(new ProjectModel(values), List.of(sources), classes);
    }
  }

  @Test
  void errorsNameFileLineAndCause() throws IOException {
    Path broken = source("Broken", "class Broken {\n  int a = \"b\";\n  int c = true;\n}\n");
    assertThat(compile(Map.of(), broken))
        .containsExactly(
            "Broken.java:2: incompatible types: java.lang.String cannot be converted to int",
            "Broken.java:3: incompatible types: boolean cannot be converted to int");
  }

  @Test
  void optionsOfTheBuildFileApply() throws IOException {
    Path source = source("Two", "class Two { java.util.List list = null; }\n");
    assertThat(compile(Map.of("compile.compilerArgs", "[-Xlint:rawtypes, -Werror]"), source))
        .anyMatch(each -> each.contains("warnings found"));
    assertThat(compile(Map.of("compile.compilerArgs", "[-Xnonsense]"), source))
        .singleElement()
        .asString()
        .contains("-Xnonsense");
    assertThat(compile(Map.of("compile.release", "17"), source)).isEmpty();
    assertThat(classes.resolve("Two.class")).exists();
    assertThat(compile(Map.of())).isEmpty();
  }

  @Test
  void manyFailuresLeaveNoThreadAndNoOpenFile() throws IOException {
    Path broken = source("Broken", "class Broken { int a = }\n");
    int threads = Thread.activeCount();
    List<Long> open = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      assertThat(compile(Map.of(), broken)).isNotEmpty();
      open.add(openFiles());
    }
    assertThat(Thread.activeCount()).isLessThanOrEqualTo(threads);
    assertThat(open.get(199)).isLessThanOrEqualTo(open.get(20) + 5);
  }

  private static long openFiles() throws IOException {
    Path own = Path.of("/proc/self/fd");
    if (!Files.isDirectory(own)) {
      return 0;
    }
    try (var files = Files.list(own)) {
      return files.count();
    }
  }
}

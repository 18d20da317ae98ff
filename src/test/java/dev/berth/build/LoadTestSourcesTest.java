package dev.berth.build;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sources that only the scripts of load-tests compile use types and methods that exist. */
class LoadTestSourcesTest {
  private static final Path TRACES = Path.of("src/test/java/dev/berth/controller/autoscaling");

  @Test
  void autoscaleCompilesAsItsScriptDoes(@TempDir Path folder) throws IOException {
    List<Path> sources =
        new ArrayList<>(List.of(TRACES.resolve("Rules.java"), TRACES.resolve("Trace.java")));
    try (Stream<Path> files = Files.list(Path.of("load-tests/autoscale"))) {
      sources.addAll(files.filter(each -> each.toString().endsWith(".java")).toList());
    }
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter said = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      List<String> options =
          List.of("--release", "17", "-proc:none", "-nowarn", "-d", folder.toString());
      var units = files.getJavaFileObjectsFromPaths(sources);
      assertThat(compiler.getTask(said, files, null, options, null, units).call())
          .as(said::toString)
          .isTrue();
    }
  }
}

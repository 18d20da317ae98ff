package dev.berth.build;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sources that only the scripts of load-tests compile or run. */
class LoadTestSourcesTest {
  private static final Path TRACES = Path.of("src/test/java/dev/berth/controller/autoscaling");

  @Test
  void autoscaleCompilesAsItsScriptDoes(@TempDir Path folder) throws IOException {
    List<Path> sources = sources("autoscale");
    sources.addAll(List.of(TRACES.resolve("Rules.java"), TRACES.resolve("Trace.java")));
    compile(sources, folder);
  }

  @Test
  void runAndNodesCompileAndVerdictsDistinguishMetMissedAndUnknown(@TempDir Path folder)
      throws Exception {
    List<Path> sources = sources("java");
    sources.addAll(sources("nodes"));
    sources.add(Path.of("load-tests/links/NamedNodes.java"));
    compile(sources, folder);
    URL[] classes = {folder.toUri().toURL()};
    try (URLClassLoader loader = new URLClassLoader(classes, getClass().getClassLoader())) {
      loader
          .loadClass("SelfCheck")
          .getMethod("main", String[].class)
          .invoke(null, (Object) new String[0]);
    }
  }

  @Test
  void carriersCompileAsTheirScriptDoes(@TempDir Path folder) throws IOException {
    List<Path> sources = sources("java");
    sources.addAll(sources("carriers"));
    compile(sources, folder);
  }

  @Test
  void upstreamsCompileAsTheirScriptsDo(@TempDir Path folder) throws IOException {
    List<Path> sources = sources("java");
    sources.addAll(sources("upstreams"));
    compile(sources, folder);
  }

  @Test
  void batchingCompilesAsItsScriptDoes(@TempDir Path folder) throws IOException {
    List<Path> sources = sources("java");
    sources.addAll(sources("batching"));
    compile(sources, folder);
  }

  @Test
  void figuresAreTooOldAfterAHundredCommitsOfMain(@TempDir Path folder) throws Exception {
    Repository repository = new Repository(folder);
    String first = repository.commit("src/main/A", 1);
    repository.commit("src/main/A", 100);
    repository.commit("docs/other", 30);
    assertThat(repository.checkAge("2026, commit " + first.substring(0, 12) + "+changes, 2 cores"))
        .isZero();
    repository.commit("src/main/A", 1);
    assertThat(repository.checkAge("2026, commit " + first + ", 2 cores")).isOne();
    assertThat(repository.checkAge("2026, commit 0123456789ab, 2 cores")).isEqualTo(2);
    assertThat(repository.checkAge("Not measured yet.")).isEqualTo(2);
  }

  private static List<Path> sources(String folder) throws IOException {
    try (Stream<Path> files = Files.list(Path.of("load-tests", folder))) {
      return new ArrayList<>(files.filter(each -> each.toString().endsWith(".java")).toList());
    }
  }

  private static void compile(List<Path> sources, Path folder) throws IOException {
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

  /** Repository of git with the script and a page of figures. */
  private static final class Repository {
    private final Path folder;

    Repository(Path folder) throws Exception {
      this.folder = folder;
      run(null, "git", "init", "-q", ".");
      Files.createDirectories(folder.resolve("load-tests"));
      Files.createDirectories(folder.resolve("docs"));
      for (String script : List.of("load-tests/run.sh", "load-tests/prepare.sh")) {
        Files.copy(Path.of(script), folder.resolve(script));
      }
    }

    /** Adds commits that each change one file, and returns the last one. */
    String commit(String file, int count) throws Exception {
      StringBuilder commits = new StringBuilder();
      for (int i = 0; i < count; i++) {
        commits.append("commit refs/heads/trunk\ncommitter T <t@t> 1700000000 +0000\ndata 0\n");
        if (i == 0 && Files.exists(folder.resolve(".git/refs/heads/trunk"))) {
          commits.append("from refs/heads/trunk^0\n");
        }
        String body = file + " " + count + " " + i;
        commits.append("M 100644 inline ").append(file);
        commits.append("\ndata ").append(body.length()).append('\n').append(body).append('\n');
      }
      Path input = Files.writeString(folder.resolve("commits"), commits);
      assertThat(run(input, "git", "fast-import", "--quiet")).isZero();
      assertThat(run(null, "git", "symbolic-ref", "HEAD", "refs/heads/trunk")).isZero();
      return Files.readString(folder.resolve(".git/refs/heads/trunk")).trim();
    }

    int checkAge(String figures) throws Exception {
      Files.writeString(
          folder.resolve("docs/performance.md"),
          "<!-- cost: begin -->\n" + figures + "\n<!-- cost: end -->\n");
      return run(null, "bash", "load-tests/run.sh", "--check-age");
    }

    private int run(Path input, String... command) throws Exception {
      ProcessBuilder builder =
          new ProcessBuilder(command)
              .directory(folder.toFile())
              .redirectErrorStream(true)
              .redirectOutput(folder.resolve("output").toFile());
      if (input != null) {
        builder.redirectInput(input.toFile());
      }
      Process process = builder.start();
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
      return process.exitValue();
    }
  }
}

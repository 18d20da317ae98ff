package dev.berth.cli.dev;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/**
 * Compiler of all Java sources of a project, in this process. The jars of the class path stay open
 * between two runs. Confined to the thread of the loop.
 */
final class SourceCompiler implements AutoCloseable {
  private final Path folder;
  private @Nullable StandardJavaFileManager files; // of the current class path

  /**
   * @param folder base of the paths in the errors
   */
  SourceCompiler(Path folder) {
    this.folder = folder;
  }

  /**
   * Compiles sources.
   *
   * @param classes empty directory that receives the classes
   * @return the errors, as {@code file:line: message}; empty after success
   * @throws IllegalStateException on a Java without a compiler
   */
  List<String> compile(ProjectModel model, List<Path> sources, Path classes) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    if (compiler == null) {
      throw new IllegalStateException("java: no compiler (expected: a JDK)");
    }
    if (sources.isEmpty()) {
      return List.of();
    }
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    try {
      StandardJavaFileManager opened = files;
      if (opened == null) {
        Charset encoding = Charset.forName(model.encoding());
        opened = compiler.getStandardFileManager(null, Locale.ROOT, encoding);
        files = opened;
      }
      boolean compiled =
          compiler
              .getTask(
                  Writer.nullWriter(),
                  opened,
                  found,
                  model.options(classes),
                  null,
                  opened.getJavaFileObjectsFromPaths(sources))
              .call();
      List<String> errors =
          found.getDiagnostics().stream()
              .filter(each -> each.getKind() == Diagnostic.Kind.ERROR)
              .map(this::describe)
              .toList();
      return compiled || !errors.isEmpty() ? errors : List.of("the compiler failed");
    } catch (IllegalArgumentException wrongOption) {
      return List.of("compiler options of the build file: " + wrongOption.getMessage());
    }
  }

  /** Closes the jars; the next run opens those of its class path. */
  @Override
  public void close() throws IOException {
    if (files != null) {
      files.close();
      files = null;
    }
  }

  private String describe(Diagnostic<? extends JavaFileObject> error) {
    JavaFileObject source = error.getSource();
    String message = error.getMessage(Locale.ROOT);
    return source == null
        ? message
        : folder.relativize(Path.of(source.toUri())) + ":" + error.getLineNumber() + ": " + message;
  }
}

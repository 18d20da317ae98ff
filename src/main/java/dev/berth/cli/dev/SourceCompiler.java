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

/** Compiler of all Java sources of a project, in this process. */
final class SourceCompiler {
  private SourceCompiler() {}

  /**
   * Compiles sources.
   *
   * @param folder base of the paths in the errors
   * @param classes empty directory that receives the classes
   * @return the errors, as {@code file:line: message}; empty after success
   * @throws IllegalStateException on a Java without a compiler
   */
  static List<String> compile(ProjectModel model, Path folder, List<Path> sources, Path classes)
      throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    if (compiler == null) {
      throw new IllegalStateException("java: no compiler (expected: a JDK)");
    }
    if (sources.isEmpty()) {
      return List.of();
    }
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    Charset encoding = Charset.forName(model.encoding());
    try (StandardJavaFileManager files =
        compiler.getStandardFileManager(found, Locale.ROOT, encoding)) {
      boolean compiled =
          compiler
              .getTask(
                  Writer.nullWriter(),
                  files,
                  found,
                  model.options(classes),
                  null,
                  files.getJavaFileObjectsFromPaths(sources))
              .call();
      List<String> errors =
          found.getDiagnostics().stream()
              .filter(each -> each.getKind() == Diagnostic.Kind.ERROR)
              .map(each -> describe(each, folder))
              .toList();
      return compiled || !errors.isEmpty() ? errors : List.of("the compiler failed");
    } catch (IllegalArgumentException wrongOption) {
      return List.of("compiler options of the build file: " + wrongOption.getMessage());
    }
  }

  private static String describe(Diagnostic<? extends JavaFileObject> error, Path folder) {
    JavaFileObject source = error.getSource();
    String message = error.getMessage(Locale.ROOT);
    return source == null
        ? message
        : folder.relativize(Path.of(source.toUri())) + ":" + error.getLineNumber() + ": " + message;
  }
}

package dev.berth.web;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Classes that no library of the tests has, compiled into a folder. */
final class CompiledClasses {
  private CompiledClasses() {}

  /** Returns a loader of sources by their qualified names. */
  static ClassLoader in(Path folder, Map<String, String> sources) throws IOException {
    List<JavaFileObject> files = new ArrayList<>();
    sources.forEach((name, text) -> files.add(source(name, text)));
    List<String> options = List.of("-d", folder.toString(), "-proc:none", "-parameters");
    assertThat(
            ToolProvider.getSystemJavaCompiler()
                .getTask(null, null, null, options, null, files)
                .call())
        .isTrue();
    URL[] urls = {folder.toUri().toURL()};
    return new URLClassLoader(urls, CompiledClasses.class.getClassLoader());
  }

  private static JavaFileObject source(String name, String text) {
    URI uri = URI.create("string:///" + name.replace('.', '/') + ".java");
    return new SimpleJavaFileObject(uri, JavaFileObject.Kind.SOURCE) {
      @Override
      public CharSequence getCharContent(boolean ignoreEncodingErrors) {
        return text;
      }
    };
  }
}

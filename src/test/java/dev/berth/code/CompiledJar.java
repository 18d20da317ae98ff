package dev.berth.code;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** A user's jar, compiled from source, so that its classes are on no other class path. */
public final class CompiledJar {

  private CompiledJar() {}

  /**
   * @param folder for the jar and its classes
   * @param sources whole files, of one public type each: {@code package p; public final class C
   *     ...}
   */
  public static Path in(Path folder, String name, String... sources) throws IOException {
    Path classes = Files.createDirectories(folder.resolve(name + "-classes"));
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter output = new StringWriter();
    List<JavaFileObject> files = new ArrayList<>();
    for (String source : sources) {
      files.add(file(source));
    }
    List<String> options = List.of("--release", "17", "-d", classes.toString(), "-cp", classPath());
    boolean compiled = compiler.getTask(output, null, null, options, null, files).call();
    if (!compiled) {
      throw new AssertionError("sources: do not compile: " + output);
    }
    return pack(classes, folder.resolve(name));
  }

  /** A jar without classes, with a text in it. */
  public static Path holding(Path jar, String text) throws IOException {
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream entries = new JarOutputStream(out)) {
      entries.putNextEntry(new JarEntry("content"));
      entries.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return jar;
  }

  private static Path pack(Path classes, Path jar) throws IOException {
    try (Stream<Path> all = Files.walk(classes);
        OutputStream out = Files.newOutputStream(jar);
        JarOutputStream entries = new JarOutputStream(out)) {
      for (Path file : all.filter(Files::isRegularFile).toList()) {
        entries.putNextEntry(new JarEntry(classes.relativize(file).toString().replace('\\', '/')));
        Files.copy(file, entries);
        entries.closeEntry();
      }
    }
    return jar;
  }

  private static JavaFileObject file(String source) {
    String className = source.replaceAll("(?s).*?public (?:final )?class (\\w+).*", "$1");
    return new SimpleJavaFileObject(
        URI.create("string:///" + className + ".java"), JavaFileObject.Kind.SOURCE) {
      @Override
      public CharSequence getCharContent(boolean ignoreEncodingErrors) {
        return source;
      }
    };
  }

  /** What user code compiles against. */
  private static String classPath() {
    return String.join(
        java.io.File.pathSeparator,
        location(dev.berth.api.Application.class),
        location(io.vertx.core.Future.class),
        location(org.slf4j.Logger.class),
        location(org.jspecify.annotations.Nullable.class));
  }

  private static String location(Class<?> type) {
    try {
      return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    } catch (URISyntaxException impossible) {
      throw new AssertionError(impossible);
    }
  }
}

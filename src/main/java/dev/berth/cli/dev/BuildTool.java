package dev.berth.cli.dev;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Maven or Gradle, run as a child process in the folder of a project.
 *
 * @param folder contains the build file
 * @param maven whether the tool is Maven; else Gradle
 * @param scratch directory for files of this process
 */
record BuildTool(Path folder, boolean maven, Path scratch) {
  private static final int MAX_LINES = 40;

  /**
   * Result of a run.
   *
   * @param output all printed lines
   */
  record BuildResult(boolean succeeded, List<String> output) {
    /** Returns the lines to show for a failed build: the errors, or else the last lines. */
    List<String> errors() {
      List<String> shown = output.stream().filter(line -> !line.startsWith("[DEBUG]")).toList();
      List<String> errors =
          shown.stream()
              .filter(line -> line.startsWith("[ERROR]"))
              .map(line -> line.replaceFirst("^(\\[ERROR] *)+", ""))
              .filter(line -> !line.isBlank())
              .distinct()
              .limit(MAX_LINES)
              .toList();
      int last = Math.max(0, shown.size() - MAX_LINES);
      return errors.isEmpty() ? shown.subList(last, shown.size()) : errors;
    }
  }

  /** Returns the tool of the nearest project at or above a folder; null without a project. */
  static @Nullable BuildTool find(Path start, Path scratch) {
    for (Path at = start.toAbsolutePath().normalize(); at != null; at = at.getParent()) {
      boolean maven = Files.exists(at.resolve("pom.xml"));
      if (maven
          || Stream.of("build.gradle.kts", "build.gradle")
              .map(at::resolve)
              .anyMatch(Files::exists)) {
        return new BuildTool(at, maven, scratch);
      }
    }
    return null;
  }

  /** Returns the folder and the folders above it, the nearest first. */
  private Stream<Path> folders() {
    return Stream.iterate(folder, Objects::nonNull, Path::getParent);
  }

  /** Returns the files and folders whose change requires a new run; some may be missing. */
  List<Path> buildFiles() {
    String names =
        maven
            ? ".mvn pom.xml"
            : "gradle gradle.properties settings.gradle settings.gradle.kts build.gradle"
                + " build.gradle.kts";
    return Stream.concat(
            Stream.of(names.split(" ")).map(folder::resolve),
            folders().skip(1).map(each -> each.resolve("pom.xml")).takeWhile(Files::exists))
        .toList();
  }

  /** Returns the name of the program: the nearest wrapper, or else the installed program. */
  String program() {
    return folders()
        .map(each -> each.resolve(maven ? "mvnw" : "gradlew"))
        .filter(Files::isExecutable)
        .map(Path::toString)
        .findFirst()
        .orElse(maven ? "mvn" : "gradle");
  }

  /**
   * Builds the project without its tests, and waits for the end.
   *
   * @param jars whether to build the jars too; else only the classes
   * @throws InterruptedException after the child process and its own children were ended
   */
  BuildResult run(boolean jars) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(program()));
    if (maven) {
      command.addAll(List.of("-B", "-X", "-Dmaven.test.skip=true", jars ? "package" : "compile"));
    } else {
      Path script = scratch.resolve("development.gradle");
      try (InputStream text = BuildTool.class.getResourceAsStream("development.gradle")) {
        Files.write(script, Objects.requireNonNull(text).readAllBytes());
      }
      command.addAll(List.of("--console=plain", "-q", "-I", script.toString()));
      command.addAll(List.of(jars ? "assemble" : "classes", "berthDevelopment"));
    }
    Path log = scratch.resolve("build.log");
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    builder.environment().putIfAbsent("JAVA_HOME", System.getProperty("java.home"));
    Process process = builder.redirectErrorStream(true).redirectOutput(log.toFile()).start();
    try {
      process.getOutputStream().close(); // the tool must not wait for input
      int exitCode = process.waitFor();
      String output = new String(Files.readAllBytes(log), StandardCharsets.UTF_8);
      return new BuildResult(exitCode == 0, output.lines().toList());
    } finally {
      process.descendants().forEach(ProcessHandle::destroy);
      process.destroy();
    }
  }
}

package dev.berth.cli.dev;

import static java.util.stream.Collectors.joining;

import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Settings of a project's main compilation, as its build tool printed them. Maven prints the values
 * of each plugin with {@code -X}; the script for Gradle prints the same form.
 *
 * @param values by the goal and the parameter's name, as in {@code compile.release}
 */
record ProjectModel(Map<String, String> values) {
  private static final Pattern GOAL =
      Pattern.compile(
          ".*Configuring mojo '[^']*(?:compiler|resources|gradle)[^']*:(compile|resources)'.*");
  private static final Pattern VALUE =
      Pattern.compile("\\[DEBUG]\\s+\\([a-z]\\) (\\w+) = (.*)", Pattern.DOTALL);
  private static final Pattern RESOURCES = Pattern.compile("directory: (.*?), PatternSet");

  /** Resources that differ from their files: filtered, moved, or a selection. */
  private static final Pattern PROCESSED =
      Pattern.compile("filtering: true|targetPath: (?!null)|cludes: \\{[^}]");

  /** Sources that the compiler of this process cannot compile alone. */
  private static final Pattern NEEDS_BUILD_TOOL =
      Pattern.compile(".*(\\.(kt|groovy|scala)|/module-info\\.java)");

  /** Returns the values of the first execution of each goal. */
  static ProjectModel parse(List<String> output) {
    Map<String, String> values = new HashMap<>();
    List<String> goals = new ArrayList<>();
    String current = null;
    for (String line : output) {
      Matcher goal = GOAL.matcher(line);
      Matcher value = VALUE.matcher(line);
      if (goal.matches()) {
        current = goals.contains(goal.group(1)) ? null : goal.group(1);
        goals.add(goal.group(1));
      } else if (line.contains("-- end configuration --")) {
        current = null;
      } else if (current != null && value.matches()) {
        values.put(current + "." + value.group(1), value.group(2));
      }
    }
    return new ProjectModel(values);
  }

  private @Nullable String value(String parameter) {
    return values.get("compile." + parameter);
  }

  private List<String> list(String parameter, String separator) {
    String text = value(parameter);
    return text == null || text.length() < 3
        ? List.of()
        : List.of(text.substring(1, text.length() - 1).split(separator));
  }

  private List<Path> paths(String parameter) {
    return list(parameter, ", (?=/)").stream().map(Path::of).toList();
  }

  /** Returns the directories of the written sources, without those of generated ones. */
  List<Path> sourceRoots() {
    String generated = value("generatedSourcesDirectory");
    return paths("compileSourceRoots").stream()
        .filter(root -> generated == null || !root.startsWith(generated))
        .toList();
  }

  /** Returns the directories that the build tool fills with classes and resources. */
  List<Path> outputs() {
    String maven = value("outputDirectory");
    return maven == null ? paths("outputDirectories") : List.of(Path.of(maven));
  }

  /** Returns the directories of resources, without those that contain the outputs. */
  List<Path> resources() {
    Matcher found = RESOURCES.matcher(values.getOrDefault("resources.resources", ""));
    List<Path> outputs = outputs();
    return found
        .results()
        .map((MatchResult each) -> Path.of(each.group(1)))
        .filter(root -> outputs.stream().noneMatch(each -> each.startsWith(root)))
        .toList();
  }

  /** Returns whether resources reach the classes as they are. */
  boolean copiesResources() {
    return !PROCESSED.matcher(values.getOrDefault("resources.resources", "")).find();
  }

  /**
   * Returns whether the compiler of this process makes the same classes as the build tool.
   *
   * @param files all files of the project
   */
  boolean isJavaAlone(Collection<Path> files) {
    return value("compilePath") != null
        && value("annotationProcessorPaths") == null
        && files.stream().noneMatch(each -> NEEDS_BUILD_TOOL.matcher(each.toString()).matches());
  }

  /** Returns the encoding of the sources. */
  String encoding() {
    return values.getOrDefault("compile.encoding", "UTF-8");
  }

  /**
   * Returns the options of the compiler.
   *
   * @param classes directory that receives the classes
   */
  List<String> options(Path classes) {
    List<Path> outputs = outputs();
    List<Path> jars = new ArrayList<>(paths("compilePath"));
    jars.removeAll(outputs);
    String path = jars.stream().map(Path::toString).collect(joining(File.pathSeparator));
    List<String> options = new ArrayList<>(List.of("-g", "-d", classes.toString(), "-cp", path));
    options.addAll(List.of("-encoding", encoding()));
    for (String each : List.of("release", "source", "target")) {
      String version = value(each);
      if (version != null && (each.equals("release") || value("release") == null)) {
        options.addAll(List.of("--" + each, version));
      }
    }
    options.addAll("true".equals(value("parameters")) ? List.of("-parameters") : List.of());
    options.addAll("true".equals(value("enablePreview")) ? List.of("--enable-preview") : List.of());
    String processors = value("proc");
    options.addAll(processors == null ? List.of() : List.of("-proc:" + processors));
    options.addAll(list("compilerArgs", ", "));
    return options;
  }
}

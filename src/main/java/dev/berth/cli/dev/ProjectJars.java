package dev.berth.cli.dev;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Jars that stand for a project's own jars during development: one with the present classes and
 * resources, and one with the libraries inside each of the project's jars. A class that the project
 * no longer has is in neither. Confined to the thread of the loop.
 */
final class ProjectJars {
  private final Path scratch;
  private final Map<Path, List<Path>> substitutes = new HashMap<>();
  private Set<String> built = Set.of(); // files in the project's jars
  private Set<String> generated = Set.of(); // without classes and copied resources
  private int number;
  private @Nullable Path last;

  ProjectJars(Path scratch) {
    this.scratch = scratch;
  }

  /**
   * Reads the results of a build, and writes a jar of them.
   *
   * @param packaged whether the project's jars have the same classes
   */
  Path ofBuild(ProjectModel model, boolean packaged) throws IOException {
    Map<String, Path> files = files(model.outputs());
    if (packaged) {
      substitutes.clear();
      built = files.keySet();
    }
    generated = new HashSet<>(files.keySet());
    generated.removeIf(name -> name.endsWith(".class"));
    generated.removeAll(files(model.resources()).keySet());
    return write(files);
  }

  /** Writes a jar of compiled classes, of the resources, and of resources that a build made. */
  Path ofClasses(ProjectModel model, Path classes) throws IOException {
    Map<String, Path> files = files(model.outputs());
    files.keySet().retainAll(generated);
    files.putAll(files(model.resources()));
    files.putAll(files(List.of(classes)));
    return write(files);
  }

  /** Writes a jar whose application shows errors. */
  Path ofErrors(List<String> errors) throws IOException {
    Path page = scratch.resolve("ErrorPage.class");
    try (InputStream code = ErrorPage.class.getResourceAsStream("ErrorPage.class")) {
      Files.write(page, code == null ? new byte[0] : code.readAllBytes());
    }
    Path text = Files.write(scratch.resolve(ErrorPage.ERRORS), errors);
    String name = ErrorPage.class.getName().replace('.', '/') + ".class";
    return write(Map.of(name, page, ErrorPage.ERRORS, text));
  }

  /**
   * Returns the jars of an application with substitutes for those that contain classes of the
   * project; the same jars when none of them does.
   *
   * @param classes jar of the present classes
   */
  List<Path> substituted(List<Path> jars, Path classes) throws IOException {
    Set<Path> all = new LinkedHashSet<>();
    for (Path jar : jars) {
      if (!substitutes.containsKey(jar)) {
        substitutes.put(jar, split(jar));
      }
      List<Path> substitute = substitutes.get(jar);
      if (!substitute.contains(jar)) {
        all.add(classes);
      }
      all.addAll(substitute);
    }
    return List.copyOf(all);
  }

  /** Returns the jar itself, or a copy without the project's classes. */
  private List<Path> split(Path jar) throws IOException {
    Path copy = scratch.resolve("libraries-" + ++number + ".jar");
    Files.copy(jar, copy);
    boolean removed = false;
    try (FileSystem files = FileSystems.newFileSystem(copy)) {
      for (String each : built) {
        // several libraries may share a file of META-INF/services
        removed |= !each.startsWith("META-INF/") && Files.deleteIfExists(files.getPath(each));
      }
    }
    return List.of(removed ? copy : jar);
  }

  /** Returns the files below directories by name; later directories take precedence. */
  private static Map<String, Path> files(Collection<Path> directories) throws IOException {
    Map<String, Path> files = new TreeMap<>();
    for (Path directory : directories) {
      if (Files.isDirectory(directory)) {
        try (Stream<Path> all = Files.walk(directory)) {
          all.filter(Files::isRegularFile)
              .forEach(file -> files.put(directory.relativize(file).toString(), file));
        }
      }
    }
    return files;
  }

  /** Writes a jar under a new name, and removes the jar before: the instance has its own copy. */
  private Path write(Map<String, Path> files) throws IOException {
    Path jar = scratch.resolve("classes-" + ++number + ".jar");
    try (FileSystem entries = FileSystems.newFileSystem(jar, Map.of("create", "true"))) {
      for (Map.Entry<String, Path> each : files.entrySet()) {
        Path entry = entries.getPath("/" + each.getKey());
        Files.createDirectories(entry.getParent());
        Files.copy(each.getValue(), entry, StandardCopyOption.COPY_ATTRIBUTES);
      }
    }
    if (last != null) {
      Files.deleteIfExists(last);
    }
    last = jar;
    return jar;
  }
}

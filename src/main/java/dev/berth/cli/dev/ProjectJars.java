package dev.berth.cli.dev;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.jspecify.annotations.Nullable;

/**
 * Jars that stand for a project's own jars during development: one with the present classes and
 * resources, and one with the libraries inside each of the project's jars. A class that the project
 * no longer has is in neither. Confined to the thread of the loop.
 */
final class ProjectJars {
  private final Path scratch;
  private final Map<Path, List<Path>> substitutes = new HashMap<>();
  private Set<String> built = Set.of(); // entries that the last build made
  private Set<String> generated = Set.of(); // those that are neither classes nor copied resources
  private int number;
  private @Nullable Path last;

  ProjectJars(Path scratch) {
    this.scratch = scratch;
  }

  /** Reads the results of a build. */
  void onBuilt(ProjectModel model) {
    substitutes.clear();
    built = entries(model.outputs()).keySet();
    generated = new HashSet<>(built);
    generated.removeIf(name -> name.endsWith(".class"));
    generated.removeAll(entries(model.resources()).keySet());
  }

  /** Writes a jar of the classes and resources that the build tool made. */
  Path ofBuild(ProjectModel model) throws IOException {
    return write(entries(model.outputs()));
  }

  /** Writes a jar of compiled classes, of the resources, and of resources that a build made. */
  Path ofClasses(ProjectModel model, Path classes) throws IOException {
    Map<String, Path> entries = entries(model.outputs());
    entries.keySet().retainAll(generated);
    entries.putAll(entries(model.resources()));
    entries.putAll(entries(List.of(classes)));
    return write(entries);
  }

  /** Writes a jar whose application shows errors. */
  Path ofErrors(List<String> errors) throws IOException {
    Path page = scratch.resolve("page");
    String name = ErrorPage.class.getName().replace('.', '/') + ".class";
    Path copy = page.resolve(name);
    Files.createDirectories(copy.getParent());
    try (InputStream code = ErrorPage.class.getResourceAsStream("ErrorPage.class")) {
      Files.write(copy, code == null ? new byte[0] : code.readAllBytes());
    }
    Files.writeString(page.resolve(ErrorPage.ERRORS), String.join("\n", errors) + "\n");
    return write(entries(List.of(page)));
  }

  /**
   * Returns the jars of an application with substitutes for those that contain classes of the
   * project; null when none of them does.
   *
   * @param classes jar of the present classes
   */
  @Nullable List<Path> substituted(List<Path> jars, Path classes) throws IOException {
    boolean own = false;
    Set<Path> all = new java.util.LinkedHashSet<>();
    for (Path jar : jars) {
      List<Path> substitute = substitutes.get(jar);
      if (substitute == null) {
        substitute = split(jar);
        substitutes.put(jar, substitute);
      }
      boolean isProject = !substitute.contains(jar);
      own |= isProject;
      if (isProject) {
        all.add(classes);
      }
      all.addAll(substitute);
    }
    return own ? List.copyOf(all) : null;
  }

  /** Returns the jar itself, or the jar of the entries that are not the project's, if any. */
  private List<Path> split(Path jar) throws IOException {
    try (ZipFile source = new ZipFile(jar.toFile())) {
      List<? extends ZipEntry> files = source.stream().filter(each -> !each.isDirectory()).toList();
      Predicate<ZipEntry> isClass = each -> each.getName().endsWith(".class");
      Predicate<ZipEntry> isOwn = each -> built.contains(each.getName());
      if (files.stream().noneMatch(isClass.and(isOwn))) {
        return List.of(jar);
      }
      List<? extends ZipEntry> others =
          files.stream()
              .filter(isOwn.negate().or(each -> each.getName().startsWith("META-INF/services/")))
              .toList();
      if (others.stream().noneMatch(isClass)) {
        return List.of();
      }
      Path rest = scratch.resolve("libraries-" + ++number + ".jar");
      try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(rest))) {
        out.setLevel(Deflater.BEST_SPEED);
        for (ZipEntry each : others) {
          out.putNextEntry(new ZipEntry(each.getName()));
          try (InputStream in = source.getInputStream(each)) {
            in.transferTo(out);
          }
        }
      }
      return List.of(rest);
    }
  }

  /** Returns the files below directories by name; later directories take precedence. */
  private static Map<String, Path> entries(Collection<Path> directories) {
    Map<String, Path> entries = new TreeMap<>();
    for (Path directory : directories) {
      if (Files.isDirectory(directory)) {
        try (Stream<Path> files = Files.walk(directory)) {
          files
              .filter(Files::isRegularFile)
              .forEach(file -> entries.put(directory.relativize(file).toString(), file));
        } catch (IOException failed) {
          throw new UncheckedIOException(failed);
        }
      }
    }
    return entries;
  }

  /** Writes a jar under a new name, and removes the jar before: the instance has its own copy. */
  private Path write(Map<String, Path> entries) throws IOException {
    Path jar = scratch.resolve("classes-" + ++number + ".jar");
    try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
      out.setLevel(Deflater.BEST_SPEED);
      for (Map.Entry<String, Path> each : entries.entrySet()) {
        ZipEntry entry = new ZipEntry(each.getKey());
        entry.setTime(0); // equal content, equal digest
        out.putNextEntry(entry);
        Files.copy(each.getValue(), out);
      }
      if (entries.isEmpty()) {
        out.putNextEntry(new ZipEntry("META-INF/"));
      }
    }
    if (last != null) {
      Files.deleteIfExists(last);
    }
    last = jar;
    return jar;
  }
}
